//! Steps that are skipped or collected, selections, and what is restored.

use pergrad_transforms::prelude::*;
use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
use pergrad_transforms::{Aggregated, Error, PerExample, State, Transform};

use crate::model::{add_leaf, column, leaf, reference, steps, w};
use crate::random::Random;
use crate::tolerance::assert_close;

/// The parameters of the leaf `w` after all steps, each taking the next batch.
fn train(chain: &impl Transform<PerExample>, batches: &[StepInput]) -> Vec<f64> {
    let mut reference = reference::<f64>(&program(chain).unwrap(), &batches[0]);
    let mut params = batches[0].params["w"].clone();
    for batch in batches {
        let mut input = batch.clone();
        input.params.insert("w".into(), params.clone());
        let output = reference.step(&input).unwrap();
        let updates = w(&output).iter();
        params
            .values
            .iter_mut()
            .zip(updates)
            .for_each(|(p, u)| *p += u);
    }
    params.values
}

/// Batches of 8 examples of 3 parameters, and the same examples in micro-batches of `size`.
fn batches(size: usize) -> Vec<StepInput> {
    let mut random = Random::new(33);
    let mut batches = Vec::new();
    for _ in 0..3 {
        let examples = random.normals(8 * 3);
        for part in examples.chunks(size * 3) {
            let mut input = StepInput::default();
            add_leaf(&mut input, "w", &[3], size, part.to_vec());
            batches.push(input);
        }
    }
    batches
}

/// optax#515, optax#1567, the Optimisers.jl documentation.
#[test]
fn case_33_accumulation_of_equal_micro_batches_equals_the_full_batch() {
    let full = train(&chain((mean(), adam(0.1))), &batches(8));
    for k in [2, 4] {
        let parts = batches(8 / k);
        let every_k = i32::try_from(k).unwrap();
        let collected = train(&chain((mean(), accumulate(adam(0.1), every_k))), &parts);
        assert_close::<f64>(&collected, &full, "mean before");
        // What stands before the accumulation may treat each example on its own.
        let signs = |rest| chain((sign(), mean(), rest));
        let full = train(&chain((sign(), mean(), adam(0.1))), &batches(8));
        let collected = train(&signs(accumulate(adam(0.1), every_k)), &parts);
        assert_close::<f64>(&collected, &full, "sign before");
        let full = train(&chain((square(), mean(), adam(0.1))), &batches(8));
        let collected = chain((square(), mean(), accumulate(adam(0.1), every_k)));
        assert_close::<f64>(&train(&collected, &parts), &full, "squares before");
    }
}

/// Micro-batches of 4 and 2: a mean of means is not the mean, but a sum of sums is the sum.
#[test]
fn case_33_ragged_micro_batches_are_collected_as_sums() {
    let parts = [column(&[1.0, 2.0, 3.0, 4.0]), column(&[5.0, 6.0])];
    let last =
        |chain: &dyn Fn() -> pergrad_transforms::Program| w(&steps::<f64>(&chain(), &parts)[1])[0];
    let means = || program(&chain((mean(), accumulate(identity(), 2)))).unwrap();
    assert_eq!(last(&means), 4.0);
    let sums = || program(&chain((sum(), accumulate(scale(1.0 / 6.0), 2).mean(false)))).unwrap();
    assert_eq!(last(&sums), 3.5);
}

fn numbers(values: &[f64]) -> Vec<StepInput> {
    values.iter().map(|&x| column(&[x])).collect()
}

/// The slots of the links inside.
fn inner(state: &State) -> Vec<pergrad_transforms::state::SlotState> {
    let own = |name: &str| name.ends_with(".consecutive") || name.ends_with(".total");
    let slots = state.slots.iter().filter(|slot| !own(&slot.name));
    slots.cloned().collect()
}

/// levanter#973, AiDotNet#972, optax#1746.
#[test]
fn case_35_a_skipped_step_leaves_everything_as_if_it_had_not_been() {
    let nan = f64::NAN;
    for wrong in [nan, f64::INFINITY, f64::NEG_INFINITY] {
        let chain = chain((mean(), apply_if_finite(adam(0.1), 5)));
        let program = program(&chain).unwrap();
        let (bad, good) = (numbers(&[1.0, wrong, 1.0]), numbers(&[1.0, 1.0]));
        let mut interrupted = reference::<f64>(&program, &bad[0]);
        let got: Vec<_> = bad
            .iter()
            .map(|i| w(&interrupted.step(i).unwrap())[0])
            .collect();
        let mut plain = reference::<f64>(&program, &good[0]);
        let expected: Vec<_> = good.iter().map(|i| w(&plain.step(i).unwrap())[0]).collect();
        assert_eq!(got, [expected[0], 0.0, expected[1]]);
        assert_eq!(inner(&interrupted.state()), inner(&plain.state()));
        let count = |name: &str| interrupted.state().get(name, None).unwrap().values[0].0;
        assert_eq!(count("apply_if_finite.consecutive"), 0.0);
        assert_eq!(count("apply_if_finite.total"), 1.0);
        assert_eq!(count("apply_if_finite.steps"), 2.0);
    }
}

#[test]
fn case_35_a_skipped_micro_step_is_not_counted() {
    let chain = chain((mean(), accumulate(adam(0.1), 2).skip_not_finite(true)));
    let program = program(&chain).unwrap();
    let run = |values: &[f64]| steps::<f64>(&program, &numbers(values));
    let outputs = run(&[1.0, f64::NAN, 3.0, f64::NAN]);
    let updated = outputs
        .iter()
        .map(|o| o.metrics["accumulate.has_updated"][0]);
    assert_eq!(updated.collect::<Vec<_>>(), [0.0, 0.0, 1.0, 0.0]);
    let updates = outputs.iter().map(|o| w(o)[0]);
    let step = w(&run(&[1.0, 3.0])[1])[0];
    assert_eq!(updates.collect::<Vec<_>>(), [0.0, 0.0, step, 0.0]);
}

/// A schedule inside a guard counts the steps that are taken, whoever decides: counters or gradients.
#[test]
fn case_36_a_schedule_advances_once_for_each_applied_step() {
    let warm_up = || scale_by_learning_rate(linear_schedule(0.0, 1.0, 8)).flip_sign(false);
    let updates = |chain: &dyn Fn() -> pergrad_transforms::Program, values: &[f64]| -> Vec<f64> {
        let outputs = steps::<f64>(&chain(), &numbers(values));
        outputs.iter().map(|output| w(output)[0]).collect()
    };
    let collected = || program(&chain((mean(), accumulate(warm_up(), 2)))).unwrap();
    assert_eq!(
        updates(&collected, &[1.0; 6]),
        [0.0, 0.0, 0.0, 0.125, 0.0, 0.25]
    );
    let guarded = || program(&chain((mean(), skip_not_finite(warm_up())))).unwrap();
    let values = [1.0, f64::NAN, 1.0, f64::INFINITY, 1.0];
    assert_eq!(updates(&guarded, &values), [0.0, 0.0, 0.125, 0.0, 0.25]);
    let conditional =
        || program(&chain((mean(), conditionally_mask(warm_up(), step_ge(2))))).unwrap();
    assert_eq!(
        updates(&conditional, &[1.0; 5]),
        [0.0, 0.0, 0.0, 0.125, 0.25]
    );
    // Also in f32, where the count that the gradients decide is a number of the device.
    let output = &steps::<f32>(&guarded(), &numbers(&values))[4];
    assert_close::<f32>(w(output), &[0.25], "f32");
}

#[test]
fn case_36_the_number_of_micro_batches_may_be_a_schedule() {
    let growing = accumulate(identity(), linear_schedule(1.0, 3.0, 2));
    let program = program(&chain((mean(), growing))).unwrap();
    let outputs = steps::<f64>(&program, &numbers(&[1.0, 2.0, 4.0, 6.0, 7.0, 8.0, 1.0]));
    let updates = outputs.iter().map(|output| w(output)[0]);
    assert_eq!(
        updates.collect::<Vec<_>>(),
        [1.0, 0.0, 3.0, 0.0, 0.0, 7.0, 0.0]
    );
    // 0.5 micro-batches at the second step make no sense.
    let broken = accumulate(identity(), linear_schedule(1.0, 2.0, 2));
    let mut reference = reference::<f64>(
        &pergrad_transforms::program(&chain((mean(), broken))).unwrap(),
        &column(&[1.0]),
    );
    reference.step(&column(&[1.0])).unwrap();
    let error = reference.step(&column(&[1.0])).unwrap_err();
    insta::assert_snapshot!(error, @"`accumulate.every_k` must be a whole number of at least 1, but it is 1.5");
}

/// burn#5130, burn#5177.
#[test]
fn case_38_a_state_saved_in_the_middle_of_an_accumulation_goes_on() {
    let chain = chain((mean(), accumulate(adam(0.1), 3)));
    let program = program(&chain).unwrap();
    let inputs = numbers(&[1.0, -2.0, 3.0, 0.5, 4.0, -1.0]);
    let all = steps::<f64>(&program, &inputs);
    for stop in 1..inputs.len() {
        let mut first = reference::<f64>(&program, &inputs[0]);
        inputs[..stop]
            .iter()
            .for_each(|input| drop(first.step(input).unwrap()));
        let text = serde_json::to_string(&first.state()).unwrap();
        let mut second = reference::<f64>(&program, &inputs[0]);
        second.load(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(serde_json::to_string(&second.state()).unwrap(), text);
        for (input, expected) in inputs[stop..].iter().zip(&all[stop..]) {
            assert_eq!(second.step(input).unwrap(), *expected);
        }
    }
}

#[test]
fn case_38_a_state_of_another_selection_is_refused() {
    let program = |leaves| program(&chain((mean(), masked(ema(0.9), leaves)))).unwrap();
    let mut input = column(&[1.0]);
    add_leaf(&mut input, "b", &[2], 1, vec![1.0, 2.0]);
    let of_w = reference::<f64>(&program(Leaves::matching("w")), &input).state();
    assert_eq!(of_w.slots.len(), 1);
    let mut of_b = reference::<f64>(&program(Leaves::matching("b")), &input);
    insta::assert_snapshot!(of_b.load(&of_w).unwrap_err(), @r#"
    the state does not fit:
      it belongs to another chain: the state has `@ema.moment : [P] = 0 in "w"`, this chain has `@ema.moment : [P] = 0 in "b"`
      `ema.moment` of leaf `b` is missing
      `ema.moment` of leaf `w` is extra
    load the state that was saved for this chain and model, or go on with a new optimizer
    "#);
}

/// Gradients and parameters of two leaves, `w [2]` and `b [2]`.
fn two_leaves(w: [f64; 2], b: [f64; 2]) -> StepInput {
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[2], 1, w.to_vec());
    add_leaf(&mut input, "b", &[2], 1, b.to_vec());
    for p in input.params.values_mut() {
        *p = HostTensor::new([2], [2.0, 2.0]);
    }
    input
}

fn first(chain: &impl Transform<PerExample>, input: &StepInput) -> [Vec<f64>; 2] {
    let output = steps::<f64>(&program(chain).unwrap(), std::slice::from_ref(input)).remove(0);
    ["w", "b"].map(|path| output.updates[path].values.clone())
}

/// optax#159, optax#1007, optax#1373, torchopt#232. What is not selected passes unchanged.
#[test]
fn case_39_what_is_not_selected_passes_unchanged() {
    let input = two_leaves([1.0, 1.0], [1.0, 1.0]);
    let decay = masked(add_decayed_weights(0.01), Leaves::matching("w"));
    let [w, b] = first(
        &chain((mean(), scale_by_adam(), decay, scale_by_learning_rate(0.1))),
        &input,
    );
    let after = |updates: Vec<f64>| 2.0 + updates[0];
    assert_close::<f64>(&[after(w)], &[1.898_000_001], "decayed");
    assert_close::<f64>(&[after(b)], &[1.900_000_001], "plain");
    // Zeroed, where that is wanted.
    let [w, b] = first(
        &chain((mean(), selective_transform(sign(), Leaves::matching("b")))),
        &input,
    );
    assert_eq!((w, b), (vec![1.0, 1.0], vec![0.0, 0.0]));
}

#[test]
fn case_39_a_masked_norm_is_over_the_selected_leaves() {
    let input = two_leaves([3.0, 4.0], [60.0, 80.0]);
    let clip = masked(clip_by_global_norm(1.0), Leaves::matching("w"));
    let [w, b] = first(&chain((mean(), clip)), &input);
    assert_close::<f64>(&w, &[0.6, 0.8], "w");
    assert_eq!(b, [60.0, 80.0]);
    // Before the reduction too: each example is as long as its selected leaves are.
    let clip = masked(clip_per_example(1.0), Leaves::matching("b"));
    let [w, b] = first(&chain((clip, mean())), &input);
    assert_eq!(w, [3.0, 4.0]);
    assert_close::<f64>(&b, &[0.6, 0.8], "b");
}

#[test]
fn case_39_a_mask_of_no_leaf_works() {
    let input = two_leaves([3.0, 4.0], [f64::NAN, 8.0]);
    let nothing = masked(
        chain((clip_by_global_norm(1.0), scale_by_adam())),
        Leaves::none(),
    );
    let [w, b] = first(&chain((mean(), nothing)), &input);
    assert_eq!(w, [3.0, 4.0]);
    assert!(b[0].is_nan() && b[1] == 8.0);
}

#[test]
fn case_39_a_leaf_in_no_part_is_named() {
    let tree = pergrad_transforms::ParamTree::new(vec![leaf("w", &[2]), leaf("b", &[2])]).unwrap();
    let bind = |program| Reference::<f64>::new(&program, &tree).unwrap_err();
    let parts = partition((
        (Leaves::matching("w"), sgd(0.1)),
        (Leaves::RankAtLeast(2), sgd(0.2)),
    ));
    let error = bind(optimizer_program(&parts).unwrap());
    insta::assert_snapshot!(error, @r#"leaf `b` is in no part of the partition, whose parts are "w"; rank>=2: give it one, or end with a part for `Leaves::All`"#);
    let only = partition(((Leaves::matching("w"), sgd(0.1)),));
    assert!(
        matches!(bind(optimizer_program(&only).unwrap()), Error::Unassigned { leaf, .. } if leaf == "b")
    );
}

#[test]
fn case_39_the_first_part_that_selects_a_leaf_has_it() {
    let input = two_leaves([1.0, 1.0], [1.0, 1.0]);
    let parts = partition((
        (Leaves::matching("w"), chain((mean(), scale(2.0)))),
        (Leaves::All, chain((sum(), scale(3.0)))),
    ));
    assert_eq!(first(&parts, &input), [vec![2.0, 2.0], vec![3.0, 3.0]]);
}

/// A partition whose parts reduce the examples and are wrapped: the axes are checked part by part.
#[test]
fn a_wrapper_stands_where_its_links_stand() {
    fn stands<In: pergrad_transforms::Axis>(_: &impl Transform<In>) {}
    stands::<PerExample>(&masked(sign(), Leaves::All));
    stands::<Aggregated>(&masked(ema(0.9), Leaves::All));
    stands::<PerExample>(&partition(((Leaves::All, mean()),)));
    stands::<PerExample>(&conditionally_mask(adam(0.1), step_ge(1)));
}
