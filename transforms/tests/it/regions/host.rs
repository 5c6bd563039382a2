//! What the host knows of a guarded program, and counts.

use pergrad_transforms::prelude::*;
use pergrad_transforms::program::{HostInputs, HostScalars, Op};
use pergrad_transforms::runner::Runner;
use pergrad_transforms::{Hyper, State};

use crate::model::{column, reference};

#[test]
fn the_host_knows_before_a_step_whether_an_accumulation_acts() {
    let program = program(&chain((mean(), accumulate(adam(0.1), 2)))).unwrap();
    let Op::Select(acts, ..) = program.node(program.updates()).op else {
        panic!("the updates are a choice");
    };
    let hypers: Vec<Hyper> = program.hypers().iter().map(|h| h.value.clone()).collect();
    assert_eq!(program.slots_to_read(&hypers), [0; 0]);
    for (mini_step, expected) in [(0.0, false), (1.0, true)] {
        let known = |slot: &pergrad_transforms::program::Slot| match slot.name.as_str() {
            "accumulate.mini_step" => Some(mini_step),
            "accumulate.gradient_step" => Some(3.0),
            _ => None,
        };
        let known: Vec<_> = program.slots().iter().map(known).collect();
        let inputs = HostInputs {
            step: 7,
            batch: 1,
            hypers: &program.hyper_values_knowing(&hypers, 7, &known).unwrap(),
            leaf_sizes: &[1],
            selected: &[],
        };
        let host = HostScalars::compute_knowing(&program, &inputs, &known);
        assert_eq!(host.get_predicate(acts, 0), Some(expected));
        assert_eq!(
            HostScalars::compute(&program, &inputs).get_predicate(acts, 0),
            None
        );
    }
}

#[test]
fn a_step_that_only_collects_needs_nothing_of_the_links_inside() {
    let link = accumulate(chain((clip_by_global_norm(1.0), adam(0.1))), 2);
    let program = program(&chain((mean(), link))).unwrap();
    let needed = |mini_step: f64| -> Vec<String> {
        let of_host = program.host_slots().into_iter();
        let known: Vec<_> = of_host
            .map(|of_host| of_host.then_some(mini_step))
            .collect();
        let inputs = HostInputs {
            step: 1,
            batch: 1,
            hypers: &program
                .hypers()
                .iter()
                .map(|h| h.value.at(0))
                .collect::<Vec<_>>(),
            leaf_sizes: &[1],
            selected: &[],
        };
        let host = HostScalars::compute_knowing(&program, &inputs, &known);
        let mut open: Vec<_> = program.slots().iter().map(|slot| slot.next).collect();
        open.push(program.updates());
        let mut links = std::collections::BTreeSet::new();
        while let Some(id) = open.pop() {
            if host.knows(id) {
                continue;
            }
            match program.node(id).op {
                Op::State(_) | Op::Grads => {}
                Op::Select(c, yes, no) if host.knows(c) => {
                    open.push(if host.get_predicate(c, 0) == Some(true) {
                        yes
                    } else {
                        no
                    });
                }
                op => {
                    links.insert(program.link_of(id).to_owned());
                    open.extend(op.operands());
                }
            }
        }
        links.into_iter().collect()
    };
    assert_eq!(needed(0.0), ["accumulate", "mean"]);
    let acting = needed(1.0);
    assert!(
        acting
            .iter()
            .any(|link| link.ends_with("clip_by_global_norm")),
        "{acting:?}"
    );
    assert!(
        acting.iter().any(|link| link.contains("adam")),
        "{acting:?}"
    );
}

#[test]
fn counts_of_the_host_are_exact_beyond_f32() {
    let program = program(&chain((mean(), accumulate(sgd(0.1), 2)))).unwrap();
    let input = column(&[1.0]);
    let mut reference = reference::<f32>(&program, &input);
    let mut state = reference.state();
    let many = f64::from(1 << 24);
    let count = |state: &mut State, to: Option<f64>| {
        let slot = state
            .slots
            .iter_mut()
            .find(|s| s.name == "accumulate.gradient_step");
        let value = &mut slot.unwrap().values[0].0;
        *value = to.unwrap_or(*value);
        *value
    };
    count(&mut state, Some(many));
    reference.load(&state).unwrap();
    reference.step(&input).unwrap();
    reference.step(&input).unwrap();
    assert_eq!(count(&mut reference.state(), None), many + 1.0);
}

#[test]
fn a_schedule_of_a_count_that_is_not_known_is_refused() {
    let rate = linear_schedule(0.0, 1.0, 4);
    let guarded = program(&chain((mean(), skip_not_finite(sgd(rate))))).unwrap();
    let hypers: Vec<Hyper> = guarded.hypers().iter().map(|h| h.value.clone()).collect();
    let slots = guarded.slots_to_read(&hypers);
    assert_eq!(
        guarded.slots()[slots[0] as usize].name,
        "skip_not_finite.steps"
    );
    insta::assert_snapshot!(guarded.hyper_values(&hypers, 0).unwrap_err(), @"`learning_rate` is a schedule of `skip_not_finite.steps`, which counts steps that are skipped by what is in the gradients: give this executor a number for it, or put the link with the schedule outside the guard");
    // A number is the same at every count.
    let numbers = vec![0.1.into(); hypers.len()];
    assert_eq!(guarded.slots_to_read(&numbers), [0; 0]);
    assert!(guarded.hyper_values(&numbers, 0).is_ok());
}

#[test]
fn a_number_inside_a_guard_may_become_a_schedule() {
    let chain = chain((mean(), skip_not_finite(scale_by_learning_rate(0.5))));
    let program = program(&chain).unwrap();
    let mut reference = reference::<f64>(&program, &column(&[1.0]));
    for x in [1.0, f64::NAN, 1.0] {
        reference.step(&column(&[x])).unwrap();
    }
    let mut state = reference.state();
    state.hypers[0].1 = linear_schedule(0.0, 1.0, 8).into();
    reference.load(&state).unwrap();
    for expected in [-0.25, -0.375] {
        let output = reference.step(&column(&[1.0])).unwrap();
        assert_eq!(output.updates["w"].values, [expected]);
    }
}
