//! Defazio et al., 2024, arXiv 2405.15682: the three sequences of algorithm 1, followed by a plain loop.

use pergrad_transforms::prelude::*;
use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::{HostTensor, HostTree, Runner, StepInput};
use pergrad_transforms::{Error, schedule_free_eval_params};

use crate::model::{column, reference, tree};
use crate::tolerance::assert_close;

/// The loss is `y^2 / 2`, whose gradient is taken at y.
#[test]
fn the_parameters_to_evaluate_with_are_the_weighted_average() {
    let schedule = linear_schedule(0.1, 0.4, 3);
    let optimizer = schedule_free_sgd(schedule.clone()).b1(0.8);
    let mut input = column(&[0.0]);
    input.params.insert("w".into(), HostTensor::new([1], [2.0]));
    let program = optimizer_program(&optimizer).unwrap();
    let mut reference = Reference::<f64>::new(&program, &tree(&input.params)).unwrap();

    let (mut z, mut x, mut sum) = (2.0_f64, 2.0_f64, 0.0_f64);
    let mut largest = 0.0_f64;
    for step in 0..6 {
        let y = 0.8 * x + 0.2 * z;
        let p = input.params["w"].values[0];
        assert_close::<f64>(&[p], &[y], "the parameters are y");
        // The rate of the step moves z; the weight is that of the next rate, as in optax.
        z -= schedule.value(step) * y;
        largest = largest.max(schedule.value(step + 1));
        sum += largest.powi(2);
        let share = largest.powi(2) / sum;
        x = (1.0 - share) * x + share * z;

        input.grads.insert("w".into(), HostTensor::new([1, 1], [p]));
        let update = reference.step(&input).unwrap().updates["w"].values[0];
        input.params.get_mut("w").unwrap().values[0] += update;
        let eval = schedule_free_eval_params(&reference.state(), &input.params).unwrap();
        assert_close::<f64>(&eval["w"].values, &[x], "x");
    }
}

#[test]
fn before_the_first_step_the_parameters_are_their_own_average() {
    let input = column(&[1.0]);
    let program = optimizer_program(&schedule_free_adamw(0.1)).unwrap();
    let state = reference::<f64>(&program, &input).state();
    let params: HostTree = input.params.clone();
    assert_eq!(schedule_free_eval_params(&state, &params).unwrap(), params);
}

#[test]
fn a_state_of_another_chain_has_no_average() {
    let input: StepInput = column(&[1.0]);
    let program = optimizer_program(&adam(0.1)).unwrap();
    let mut reference = reference::<f64>(&program, &input);
    reference.step(&input).unwrap();
    let error: Error = schedule_free_eval_params(&reference.state(), &input.params).unwrap_err();
    insta::assert_snapshot!(error, @r"
    the state does not fit:
      `schedule_free.b1` is missing: the chain has no link `schedule_free`
    load the state that was saved for this chain and model, or go on with a new optimizer
    ");
}
