//! First values and boundaries of the schedules (optax#415, #1744, HeavyBall#29), alone and in a chain.

use pergrad_transforms::prelude::*;
use pergrad_transforms::schedule::{
    CosineDecaySchedule, LinearSchedule, Schedule, WarmupCosineDecaySchedule,
};

use crate::model::{column, steps, w};

fn at(schedule: &Schedule, steps: impl IntoIterator<Item = u64>) -> Vec<f64> {
    steps.into_iter().map(|step| schedule.value(step)).collect()
}

#[test]
fn case_36_the_first_update_sees_step_0_and_the_eleventh_step_10() {
    let warm_up = program(&sgd(linear_schedule(0.0, 1.0, 10))).unwrap();
    let outputs = steps::<f64>(&warm_up, &vec![column(&[-1.0]); 12]);
    for (step, output) in outputs.iter().enumerate() {
        let expected = step.min(10) as f64 / 10.0;
        assert!((w(output)[0] - expected).abs() < 1e-15, "update {step}");
    }
    assert_eq!(
        [w(&outputs[0])[0], w(&outputs[10])[0], w(&outputs[11])[0]],
        [0.0, 1.0, 1.0]
    );
}

#[test]
fn a_line_begins_and_ends_where_it_says() {
    let late = Schedule::LinearSchedule(LinearSchedule {
        init_value: 1.0,
        end_value: 0.0,
        transition_steps: 4,
        transition_begin: 2,
    });
    assert_eq!(at(&late, 0..8), [1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]);
    assert_eq!(at(&linear_schedule(1.0, 0.0, 0), [0, 1, 9]), [1.0; 3]);
    assert_eq!(linear_schedule(0.0, 1.0, 10).value(u64::MAX), 1.0);
}

#[test]
fn case_36_a_cosine_ends_at_its_end_and_does_not_rise_again() {
    let cosine = cosine_decay_schedule(2.0, 100);
    assert_eq!(
        at(&cosine, [0, 100, 150, 200, u64::MAX]),
        [2.0, 0.0, 0.0, 0.0, 0.0]
    );
    assert!((cosine.value(50) - 1.0).abs() < 1e-15);
    // cos(60 degrees) is a half.
    assert!((cosine_decay_schedule(1.0, 3).value(1) - 0.75).abs() < 1e-15);
    let values = at(&cosine, 0..300);
    assert!(values.is_sorted_by(|a, b| a >= b), "it never rises");
}

#[test]
fn a_cosine_has_a_floor_and_an_exponent() {
    let with = |alpha: f64, exponent: f64| CosineDecaySchedule {
        init_value: 2.0,
        decay_steps: 2,
        alpha,
        exponent,
    };
    let values = |s: CosineDecaySchedule| [0, 1, 2, 3].map(|step| s.value(step));
    for (got, expected) in [
        (values(with(0.1, 1.0)), [2.0, 1.1, 0.2, 0.2]),
        (values(with(0.0, 2.0)), [2.0, 0.5, 0.0, 0.0]),
    ] {
        let close = got.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15);
        assert!(close, "{got:?} is not {expected:?}");
    }
}

#[test]
fn case_36_the_end_of_the_warm_up_belongs_to_the_cosine() {
    let schedule = warmup_cosine_decay_schedule(0.0, 1.0, 5, 20);
    assert_eq!(at(&schedule, [0, 4, 5]), [0.0, 0.8, 1.0]);
    assert_eq!(at(&schedule, [20, 30]), [0.0, 0.0]);
    let cosine = cosine_decay_schedule(1.0, 15);
    assert_eq!(
        at(&schedule, 5..25),
        at(&cosine, 0..20),
        "decay_steps includes the warm-up"
    );
    assert_eq!(
        warmup_cosine_decay_schedule(0.5, 1.0, 0, 10).value(0),
        1.0,
        "no warm-up"
    );
}

#[test]
fn a_warm_up_ends_at_its_end_value() {
    let schedule = |peak_value: f64| {
        Schedule::WarmupCosineDecaySchedule(WarmupCosineDecaySchedule {
            init_value: 0.0,
            peak_value,
            warmup_steps: 2,
            decay_steps: 6,
            end_value: 0.25,
            exponent: 1.0,
        })
    };
    assert_eq!(
        at(&schedule(1.0), [0, 1, 2, 6, 7]),
        [0.0, 0.5, 1.0, 0.25, 0.25]
    );
}

#[test]
fn a_schedule_may_drive_any_hyper_parameter() {
    let chain = chain((mean(), clip(linear_schedule(3.0, 1.0, 2))));
    let outputs = steps::<f64>(&program(&chain).unwrap(), &vec![column(&[10.0]); 4]);
    let updates: Vec<f64> = outputs.iter().map(|o| w(o)[0]).collect();
    assert_eq!(updates, [3.0, 2.0, 1.0, 1.0]);
}

#[test]
fn a_refused_batch_does_not_advance_the_schedule() {
    use pergrad_transforms::runner::Runner;
    let chain = program(&sgd(linear_schedule(0.0, 1.0, 2))).unwrap();
    let good = column(&[-1.0]);
    let mut reference = crate::model::reference::<f64>(&chain, &good);
    reference.step(&good).unwrap();
    reference.step(&column(&[])).unwrap_err();
    assert_eq!(w(&reference.step(&good).unwrap()), [0.5]);
}
