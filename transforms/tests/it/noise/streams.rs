//! Random numbers in a program: their text, their data, and what they are counted by.

use pergrad_transforms::extent::{Global, Leaf, PerLeaf};
use pergrad_transforms::prelude::*;
use pergrad_transforms::program::Op;
use pergrad_transforms::random::normals;
use pergrad_transforms::runner::{Runner, StepInput};
use pergrad_transforms::{Error, Program, State};

use crate::model::{add_leaf, batch, reference, steps, w};

/// A link from outside: noise for each element, each leaf and for all, each given out by itself.
#[derive(Clone, Debug)]
struct Three(Seed);

impl Transform<Aggregated> for Three {
    type Out = Aggregated;

    fn trace(&self, x: Value<Aggregated>, cx: &mut Tracer) -> Value<Aggregated> {
        let element = cx.normal::<Leaf>("element", &self.0);
        let leaf = cx.normal::<PerLeaf>("leaf", &self.0);
        let all = cx.normal::<Global>("all", &self.0);
        cx.emit("leaf", &leaf);
        cx.emit("all", &all);
        x * 0.0 + element + leaf * 0.0 + all * 0.0
    }
}

fn three() -> Program {
    program(&chain((mean(), Three(Seed::from(7))))).unwrap()
}

fn two_leaves() -> StepInput {
    let mut input = batch([[1.0, 2.0, 3.0]]);
    add_leaf(&mut input, "x", &[2], 1, vec![4.0, 5.0]);
    input
}

fn noise_of(link: impl Transform<Aggregated, Out = Aggregated>) -> Program {
    program(&chain((mean(), link))).unwrap()
}

/// Noise that is 1 wide, on gradients that are 0.
fn plain() -> impl Transform<Aggregated, Out = Aggregated> + Clone {
    add_gaussian_noise(1.0, Seed::from(7))
}

fn zeros() -> StepInput {
    batch([[0.0; 3]])
}

#[test]
fn a_stream_has_a_line_and_its_key_is_not_shown() {
    let program = noise_of(plain());
    insta::assert_snapshot!(program, @r"
    program per-example [B, ..p] -> aggregated [..p]
    $add_gaussian_noise.stddev = 1
    ~add_gaussian_noise.noise : [P] = normal at step
    %0 = mean_B g : [P]
    %1 = mul ~add_gaussian_noise.noise $add_gaussian_noise.stddev : [P]
    %2 = equal $add_gaussian_noise.stddev 0 : [] bool
    %3 = add %0 %1 : [P]
    %4 = select (%2) %0 %3 : [P]
    updates = %4
    ");
    let shown = format!("{program:?} {:?}", Seed::from(0x0707_0707));
    let key = serde_json::to_value(&program.streams()[0].key).unwrap();
    assert_eq!(key.as_str().unwrap().len(), 64);
    assert!(shown.contains("Key(..)") && !shown.contains(key.as_str().unwrap()));
}

#[test]
fn the_numbers_are_those_of_the_key_the_step_the_leaf_and_the_element() {
    let program = three();
    let outputs = steps::<f64>(&program, &vec![two_leaves(); 3]);
    let [element, leaf, all] = program.streams() else {
        panic!("three streams")
    };
    for (step, output) in (0..).zip(&outputs) {
        assert_eq!(w(output), normals(&element.key, step, 0, 0..3));
        assert_eq!(
            output.updates["x"].values,
            normals(&element.key, step, 1, 0..2)
        );
        let of_leaf = |at| normals(&leaf.key, step, at, 0..1)[0];
        assert_eq!(output.metrics["three.leaf"], [of_leaf(0), of_leaf(1)]);
        assert_eq!(
            output.metrics["three.all"],
            normals(&all.key, step, 0, 0..1)
        );
    }
}

#[test]
fn numbers_for_leaves_and_for_all_are_scalars_of_the_host_and_f32_rounds_the_same_numbers() {
    let (wide, narrow) = (
        steps::<f64>(&three(), &[two_leaves()]),
        steps::<f32>(&three(), &[two_leaves()]),
    );
    #[allow(clippy::cast_possible_truncation)]
    let rounded = |x: &[f64]| x.iter().map(|x| f64::from(*x as f32)).collect::<Vec<_>>();
    assert_eq!(w(&narrow[0]), rounded(w(&wide[0])));
    assert_eq!(
        narrow[0].metrics["three.all"],
        rounded(&wide[0].metrics["three.all"])
    );
}

#[test]
fn two_links_with_one_seed_have_numbers_of_their_own() {
    let program = noise_of(chain((plain(), plain())));
    let names: Vec<_> = program.streams().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["add_gaussian_noise.noise", "add_gaussian_noise_2.noise"]
    );
    let both = steps::<f64>(&program, &[zeros()]);
    let [first, second] = program.streams() else {
        panic!("two streams")
    };
    let (first, second) = (
        normals(&first.key, 0, 0, 0..3),
        normals(&second.key, 0, 0, 0..3),
    );
    assert_ne!(first, second);
    let sum: Vec<_> = first.iter().zip(second).map(|(x, y)| x + y).collect();
    assert_eq!(w(&both[0]), sum);
}

/// Twice the same number, and not the sum of two.
#[test]
fn one_stream_that_is_read_twice_is_one_node() {
    #[derive(Clone, Debug)]
    struct Twice(Seed);
    impl Transform<Aggregated> for Twice {
        type Out = Aggregated;
        fn trace(&self, x: Value<Aggregated>, cx: &mut Tracer) -> Value<Aggregated> {
            let z = cx.normal::<Leaf>("z", &self.0);
            x + &z + z
        }
    }
    let program = noise_of(Twice(Seed::from(7)));
    let normal = program.nodes().iter();
    let normal = normal.filter(|node| matches!(node.op, Op::Normal(_)));
    assert_eq!(normal.count(), 1);
    let z = normals(&program.streams()[0].key, 0, 0, 0..3);
    let doubled: Vec<f64> = z.iter().map(|z| 2.0 * z).collect();
    assert_eq!(w(&steps::<f64>(&program, &[zeros()])[0]), doubled);
}

#[test]
fn a_run_that_is_restored_goes_on_with_the_same_numbers() {
    let program = noise_of(plain());
    let whole = steps::<f64>(&program, &vec![zeros(); 4]);
    let mut first = reference::<f64>(&program, &zeros());
    first.step(&zeros()).unwrap();
    first.step(&zeros()).unwrap();
    let saved = serde_json::to_string(&first.state()).unwrap();
    let key = serde_json::to_value(&program.streams()[0].key).unwrap();
    assert!(
        !saved.contains(key.as_str().unwrap()),
        "the key is not in the state"
    );
    // The chain is built again, from the same seed.
    let mut second = reference::<f64>(&noise_of(plain()), &zeros());
    second
        .load(&serde_json::from_str::<State>(&saved).unwrap())
        .unwrap();
    assert_eq!(w(&second.step(&zeros()).unwrap()), w(&whole[2]));
    assert_eq!(w(&second.step(&zeros()).unwrap()), w(&whole[3]));
}

#[test]
fn a_run_inside_a_guard_goes_on_with_its_own_count() {
    let program = noise_of(skip_large_updates(plain(), 1.0));
    let order = [zeros(), batch([[9.0; 3]]), zeros(), zeros()];
    let whole = steps::<f64>(&program, &order);
    let mut first = reference::<f64>(&program, &zeros());
    for input in &order[..3] {
        first.step(input).unwrap();
    }
    let mut second = reference::<f64>(&program, &zeros());
    second.load(&first.state()).unwrap();
    assert_eq!(w(&second.step(&order[3]).unwrap()), w(&whole[3]));
}

#[test]
fn a_state_fits_a_chain_with_another_seed_which_gives_other_numbers() {
    let mut first = reference::<f64>(&noise_of(plain()), &zeros());
    first.step(&zeros()).unwrap();
    let other = noise_of(add_gaussian_noise(1.0, Seed::from(8)));
    let mut second = reference::<f64>(&other, &zeros());
    second.load(&first.state()).unwrap();
    assert_ne!(
        w(&second.step(&zeros()).unwrap()),
        w(&first.step(&zeros()).unwrap())
    );
}

/// The gradients decide, so the count is beside them; or the counter of the host does.
#[test]
fn a_step_that_is_skipped_uses_no_numbers_up() {
    let taken = steps::<f64>(&noise_of(plain()), &vec![zeros(); 3]);
    let large = batch([[9.0; 3]]);
    let guarded = noise_of(skip_large_updates(plain(), 1.0));
    insta::assert_snapshot!(guarded.rule().lines().find(|l| l.starts_with('~')).unwrap(), @"~add_gaussian_noise.noise : [P] = normal at @skip_large_updates.steps");
    let order = [zeros(), large.clone(), large, zeros(), zeros()];
    let outputs = steps::<f32>(&guarded, &order);
    #[allow(clippy::cast_possible_truncation)]
    let rounded = |x: &[f64]| x.iter().map(|x| f64::from(*x as f32)).collect::<Vec<_>>();
    for (at, expected) in [(0, 0), (3, 1), (4, 2)] {
        assert_eq!(w(&outputs[at]), rounded(w(&taken[expected])));
    }

    let collected = noise_of(accumulate(plain(), 2));
    let outputs = steps::<f64>(&collected, &vec![zeros(); 6]);
    for (at, expected) in [(1, 0), (3, 1), (5, 2)] {
        assert_eq!(w(&outputs[at]), w(&taken[expected]));
    }
}

#[test]
fn links_that_begin_anew_do_not_repeat_their_numbers() {
    #[derive(Clone, Debug)]
    struct Anew<T>(T);
    impl<T: Transform<Aggregated, Out = Aggregated>> Transform<Aggregated> for Anew<T> {
        type Out = Aggregated;
        fn trace(&self, x: Value<Aggregated>, cx: &mut Tracer) -> Value<Aggregated> {
            let always = cx.constant(0.0).equal(0.0);
            cx.resetting(&always, |cx| cx.apply(&self.0, x))
        }
    }
    let taken = steps::<f64>(&noise_of(plain()), &vec![zeros(); 3]);
    let inside = steps::<f64>(&noise_of(Anew(plain())), &vec![zeros(); 3]);
    let around = steps::<f64>(&noise_of(Anew(accumulate(plain(), 1))), &vec![zeros(); 3]);
    for step in 0..3 {
        assert_eq!(w(&inside[step]), w(&taken[step]));
        assert_eq!(w(&around[step]), w(&taken[step]));
    }
}

#[test]
fn a_count_that_f32_cannot_continue_is_an_error() {
    let program = noise_of(skip_large_updates(plain(), 1.0));
    let mut reference = reference::<f32>(&program, &zeros());
    let mut state = reference.state();
    let count = state.slots.iter_mut().find(|s| s.leaf.is_none()).unwrap();
    count.values[0].0 = 16_777_215.0;
    reference.load(&state).unwrap();
    reference.step(&zeros()).unwrap();
    let error = reference.step(&zeros()).unwrap_err();
    assert!(matches!(error, Error::NoiseCount { .. }));
    insta::assert_snapshot!(error, @"`add_gaussian_noise.noise` needs a number of its own for each step, but `skip_large_updates.steps`, which counts them, has reached 2^24, where f32 ends: put the link with the noise outside the guard");
}

#[test]
fn a_batch_in_parts_gets_the_noise_of_the_whole_once() {
    let parts = noise_of(plain()).parts().unwrap();
    let normal = |program: &Program| {
        let nodes = program.nodes().iter();
        nodes.filter(|n| matches!(n.op, Op::Normal(_))).count()
    };
    assert_eq!((normal(&parts.part), normal(&parts.rest)), (0, 1));
    assert_eq!(parts.rest.streams(), noise_of(plain()).streams());
}

#[test]
fn programs_with_noise_are_data() {
    let program = noise_of(skip_large_updates(plain(), 1.0));
    let data = serde_json::to_value(&program).unwrap();
    let back: Program = serde_json::from_value(data).unwrap();
    assert_eq!(back, program);
    assert_eq!(back.to_string(), program.to_string());
}

#[test]
fn programs_without_noise_say_nothing_of_it() {
    let data = serde_json::to_value(program(&sgd(0.1)).unwrap()).unwrap();
    assert!(data.get("streams").is_none());
    assert!(serde_json::from_value::<Program>(data).is_ok());
}

#[test]
fn streams_that_were_broken_by_hand_are_refused() {
    let program = noise_of(skip_large_updates(chain((plain(), plain())), 1.0));
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut data = serde_json::to_value(&program).unwrap();
        change(&mut data);
        let read = serde_json::from_value::<Program>(data);
        read.unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused(&|d| d["streams"] = serde_json::json!([])), @"node %15 names something the program does not list");
    insta::assert_snapshot!(refused(&|d| d["streams"][1]["key"] = d["streams"][0]["key"].clone()), @"random numbers `add_gaussian_noise_2.noise` have the key of `add_gaussian_noise.noise`");
    insta::assert_snapshot!(refused(&|d| d["streams"][1]["name"] = d["streams"][0]["name"].clone()), @"two random streams have the name `add_gaussian_noise.noise`");
    insta::assert_snapshot!(refused(&|d| d["streams"][0]["key"] = "12".into()), @"a key is 64 hexadecimal digits");
    insta::assert_snapshot!(refused(&|d| d["streams"][0]["count"] = 9.into()), @"random numbers `add_gaussian_noise.noise` are counted by a state that is not one number");
    insta::assert_snapshot!(refused(&|d| d["streams"][0]["extent"] = "pairs".into()), @"node %15 has another kind than its operation gives");
}
