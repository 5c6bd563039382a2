//! The rows of the table of edge cases, and what the links inside see.

use pergrad_transforms::Program;
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::Runner;

use super::{INF, assert_near, harmed, moved, towards_zero};
use crate::model::{add_leaf, batch, reference, steps, w};
use crate::tolerance::assert_close;

#[test]
fn without_a_penalty_the_update_is_that_of_the_links() {
    let (_, update, input) = harmed(3, 5, 4);
    for link in [
        reduce_interference(towards_zero(), 0.0),
        reduce_interference(towards_zero(), 0.0).relative(false),
        reduce_interference(towards_zero(), INF).iterations(0),
        reduce_interference(towards_zero(), INF).layer(Leaves::none()),
    ] {
        assert_eq!(w(&moved(&link, &input)), update);
    }
}

#[test]
fn where_no_example_is_harmed_the_update_is_that_of_the_links() {
    let input = batch([[1.0, 0.5], [0.5, 1.0], [0.0, 0.0]]);
    let output = moved(&reduce_interference(sgd(0.1), INF), &input);
    assert_eq!(w(&output), w(&moved(&sgd(0.1), &input)));
    assert_eq!(output.metrics["reduce_interference.alpha"], [0.0; 3]);
    assert_eq!(output.metrics["reduce_interference.harmed_before"], [0.0]);
    assert_eq!(output.metrics["reduce_interference.gap"], [0.0]);
}

/// More examples than parameters, some opposite: only standing still harms none.
#[test]
fn where_every_update_harms_someone_an_infinite_penalty_stands_still() {
    let input = batch([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [3.0, 3.0]]);
    let link = reduce_interference(sgd(1.0), INF).iterations(2000);
    assert_near(w(&moved(&link, &input)), &[0.0, 0.0], 1e-9);
}

#[test]
fn a_parameter_that_the_preconditioner_holds_is_not_moved() {
    let (_, update, mut input) = harmed(2, 4, 3);
    let grads = &mut input.grads.get_mut("w").unwrap().values;
    // Its mean is 0, and so is P there.
    for (b, x) in [1.0, -1.0, 2.0, -2.0].into_iter().enumerate() {
        grads[b * 3] = x;
    }
    let link = reduce_interference(towards_zero(), 1.0);
    let link = link.preconditioner(chain((mean(), square())));
    let output = moved(&link, &input);
    assert_eq!(w(&output)[0], update[0]);
    assert_ne!(w(&output)[1..], update[1..]);
}

#[test]
fn the_state_of_the_links_is_what_it_is_without_the_correction() {
    let inputs = [1, 2, 3].map(|seed| harmed(seed, 5, 4).2);
    let inner = || adamw(0.1).weight_decay(3.0);
    let plain = program(&inner()).unwrap();
    let reduced = program(&reduce_interference(inner(), 0.5)).unwrap();
    let state = |program| {
        let mut run = reference::<f64>(program, &inputs[0]);
        for input in &inputs {
            run.step(input).unwrap();
        }
        let slots = run.state().slots.into_iter();
        slots.map(|slot| slot.values).collect::<Vec<_>>()
    };
    assert_eq!(state(&reduced), state(&plain));
    let updates = |program| w(&steps::<f64>(program, &inputs)[2]).to_vec();
    assert_ne!(updates(&reduced), updates(&plain));
}

#[test]
fn a_momentum_that_harms_the_one_example_is_turned_to_its_side() {
    let link = reduce_interference(sgd(0.1).momentum(0.9), INF);
    let outputs = steps::<f64>(
        &program(&link).unwrap(),
        &[batch([[10.0, 5.0]]), batch([[-1.0, 1.0]])],
    );
    assert_eq!(w(&outputs[0]), [-1.0, -0.5]);
    // The momentum is [-0.8, -0.55]; along [-1, 1] it has 0.25, uphill.
    assert_close::<f64>(w(&outputs[1]), &[-0.675, -0.675], "at a right angle");
}

#[test]
fn examples_of_zeros_leave_the_update() {
    let (_, update, mut input) = harmed(1, 3, 4);
    input.grads.get_mut("w").unwrap().values.fill(0.0);
    for relative in [true, false] {
        for lambda in [0.5, INF] {
            let link = reduce_interference(towards_zero(), lambda).relative(relative);
            let output = moved(&link, &input);
            assert_eq!(w(&output), update);
            let mut metrics = output.metrics.values().flatten();
            assert!(metrics.all(|x| *x == 0.0), "{output:?}");
        }
    }
}

#[test]
fn an_update_of_zeros_stays() {
    let (_, _, input) = harmed(1, 3, 4);
    let output = moved(&reduce_interference(mean().then(scale(0.0)), INF), &input);
    assert_eq!(w(&output), [0.0; 4]);
}

#[test]
fn a_bad_example_shows_in_every_element() {
    for bad in [f64::NAN, INF] {
        let mut input = batch([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]]);
        add_leaf(&mut input, "v", &[1], 3, vec![1.0, bad, 2.0]);
        let everywhere = moved(&reduce_interference(sgd(0.1), 1.0), &input);
        assert!(w(&everywhere).iter().all(|x| x.is_nan()), "{everywhere:?}");
        assert!(everywhere.updates["v"].values[0].is_nan());
        let layer = reduce_interference(sgd(0.1), 1.0).layer(Leaves::matching("w"));
        let there = moved(&layer, &input);
        assert!(w(&there).iter().all(|x| x.is_finite()), "{there:?}");
        assert!(!there.updates["v"].values[0].is_finite());
    }
}

#[test]
fn an_empty_batch_is_refused_by_name() {
    let refused = |program: Program| program.check_batch(0).unwrap_err();
    let link = reduce_interference(sgd(0.1), 1.0);
    insta::assert_snapshot!(refused(program(&link).unwrap()), @"`reduce_interference.sgd.batch_mean` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
    let of_sums = reduce_interference(sum().then(scale(-0.1)), 1.0).relative(false);
    insta::assert_snapshot!(refused(program(&of_sums).unwrap()), @"`reduce_interference` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
}
