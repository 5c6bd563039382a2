//! Schedules: hyper-parameters as functions of the step count.
//!
//! A schedule is evaluated at the count *before* the step: the first update sees `value(0)`. It is computed on the
//! host in f64. Names, arguments and edge cases are those of optax.

mod cosine_decay;
mod cosine_onecycle;
mod exponential_decay;
mod join_schedules;
mod linear;
mod linear_onecycle;
mod piecewise_constant;
mod piecewise_interpolate;
mod polynomial;
mod sgdr;
mod warmup_constant;
mod warmup_cosine_decay;
mod warmup_exponential_decay;

use serde::{Deserialize, Serialize};

pub use cosine_decay::{CosineDecaySchedule, cosine_decay_schedule};
pub use cosine_onecycle::{CosineOnecycleSchedule, cosine_onecycle_schedule};
pub use exponential_decay::{ExponentialDecay, exponential_decay};
pub use join_schedules::{JoinSchedules, join_schedules};
pub use linear::{LinearSchedule, linear_schedule};
pub use linear_onecycle::{LinearOnecycleSchedule, linear_onecycle_schedule};
pub use piecewise_constant::{PiecewiseConstantSchedule, piecewise_constant_schedule};
pub use piecewise_interpolate::{
    Interpolation, PiecewiseInterpolateSchedule, piecewise_interpolate_schedule,
};
pub use polynomial::{PolynomialSchedule, polynomial_schedule};
pub use sgdr::{SgdrSchedule, sgdr_schedule};
pub use warmup_constant::{WarmupConstantSchedule, warmup_constant_schedule};
pub use warmup_cosine_decay::{WarmupCosineDecaySchedule, warmup_cosine_decay_schedule};
pub use warmup_exponential_decay::{
    WarmupExponentialDecaySchedule, warmup_exponential_decay_schedule,
};

use crate::error::Error;
use crate::hyper::Domain;

/// A function of the step count. Serde data carries the name of the function under `"schedule"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "schedule", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Schedule {
    /// The same value at every step.
    ConstantSchedule {
        /// The value.
        value: f64,
    },
    /// See [`linear_schedule`].
    LinearSchedule(LinearSchedule),
    /// See [`polynomial_schedule`].
    PolynomialSchedule(PolynomialSchedule),
    /// See [`exponential_decay`].
    ExponentialDecay(ExponentialDecay),
    /// See [`cosine_decay_schedule`].
    CosineDecaySchedule(CosineDecaySchedule),
    /// See [`warmup_constant_schedule`].
    WarmupConstantSchedule(WarmupConstantSchedule),
    /// See [`warmup_cosine_decay_schedule`].
    WarmupCosineDecaySchedule(WarmupCosineDecaySchedule),
    /// See [`warmup_exponential_decay_schedule`].
    WarmupExponentialDecaySchedule(WarmupExponentialDecaySchedule),
    /// See [`linear_onecycle_schedule`].
    LinearOnecycleSchedule(LinearOnecycleSchedule),
    /// See [`cosine_onecycle_schedule`].
    CosineOnecycleSchedule(CosineOnecycleSchedule),
    /// See [`piecewise_constant_schedule`].
    PiecewiseConstantSchedule(PiecewiseConstantSchedule),
    /// See [`piecewise_interpolate_schedule`].
    PiecewiseInterpolateSchedule(PiecewiseInterpolateSchedule),
    /// See [`sgdr_schedule`].
    SgdrSchedule(SgdrSchedule),
    /// See [`join_schedules`].
    JoinSchedules(JoinSchedules),
}

/// The same value at every step.
pub fn constant_schedule(value: f64) -> Schedule {
    Schedule::ConstantSchedule { value }
}

/// What every schedule knows of itself; `Display` gives its text.
trait Curve: std::fmt::Display {
    /// The value when `step` steps have been taken.
    fn value(&self, step: u64) -> f64;

    /// Checks the arguments of the schedule of the hyper-parameter `name`.
    fn check(&self, name: &str) -> Result<(), Error>;

    /// Steps between which the schedule runs monotonically; the last one stands for all later steps.
    fn corners(&self) -> Vec<u64>;
}

/// A constant.
impl Curve for f64 {
    fn value(&self, _step: u64) -> f64 {
        *self
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        finite(name, &[("value", *self)])
    }

    fn corners(&self) -> Vec<u64> {
        vec![0]
    }
}

/// Checks that the arguments of a schedule are finite.
fn finite(name: &str, arguments: &[(&str, f64)]) -> Result<(), Error> {
    arguments.iter().try_for_each(|(argument, value)| {
        Domain::Finite.check(&format!("{name}.{argument}"), *value)
    })
}

/// Checks that the steps at which the pieces of a schedule meet rise.
fn rising(name: &str, argument: &str, mut steps: impl Iterator<Item = u64>) -> Result<(), Error> {
    let mut last = None;
    match steps.find(|step| last.replace(*step).is_some_and(|last| last >= *step)) {
        None => Ok(()),
        Some(step) => Err(Error::Hyper {
            name: format!("{name}.{argument}"),
            expected: "steps that rise".to_owned(),
            got: format!("{step} after one that is not below it"),
        }),
    }
}

impl Schedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        self.curve().value(step)
    }

    /// Checks the arguments of the schedule of the hyper-parameter `name`.
    pub(crate) fn check(&self, name: &str) -> Result<(), Error> {
        self.curve().check(name)
    }

    /// Steps between which the schedule runs monotonically; the last one stands for all later steps.
    pub(crate) fn corners(&self) -> Vec<u64> {
        self.curve().corners()
    }

    fn curve(&self) -> &dyn Curve {
        match self {
            Self::ConstantSchedule { value } => value,
            Self::LinearSchedule(s) => s,
            Self::PolynomialSchedule(s) => s,
            Self::ExponentialDecay(s) => s,
            Self::CosineDecaySchedule(s) => s,
            Self::WarmupConstantSchedule(s) => s,
            Self::WarmupCosineDecaySchedule(s) => s,
            Self::WarmupExponentialDecaySchedule(s) => s,
            Self::LinearOnecycleSchedule(s) => s,
            Self::CosineOnecycleSchedule(s) => s,
            Self::PiecewiseConstantSchedule(s) => s,
            Self::PiecewiseInterpolateSchedule(s) => s,
            Self::SgdrSchedule(s) => s,
            Self::JoinSchedules(s) => s,
        }
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.curve())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedules() -> Vec<Schedule> {
        let cycle = |peak_value| WarmupCosineDecaySchedule {
            init_value: 0.1,
            peak_value,
            warmup_steps: 3,
            decay_steps: 9,
            end_value: 0.2,
            exponent: 1.5,
        };
        vec![
            constant_schedule(0.3),
            linear_schedule(1.0, -0.5, 7),
            polynomial_schedule(0.0, 1.0, 0.5, 6),
            exponential_decay(1.0, 4, 0.5),
            cosine_decay_schedule(1.0, 11),
            warmup_constant_schedule(0.0, 1.0, 5),
            warmup_cosine_decay_schedule(0.0, 1.0, 5, 20),
            warmup_exponential_decay_schedule(0.0, 1.0, 5, 4, 0.5),
            linear_onecycle_schedule(20, 1.0),
            cosine_onecycle_schedule(20, 1.0),
            piecewise_constant_schedule(1.0, [(5, 0.5), (8, 3.0)]),
            piecewise_interpolate_schedule(Interpolation::Linear, 1.0, [(5, -0.5), (8, 3.0)]),
            piecewise_interpolate_schedule(Interpolation::Cosine, 1.0, [(5, 0.5), (8, 3.0)]),
            sgdr_schedule([cycle(1.0), cycle(0.5)]),
            join_schedules([linear_schedule(0.0, 1.0, 9), constant_schedule(0.5)], [4]),
        ]
    }

    /// What makes it enough to check a hyper-parameter at the corners.
    #[test]
    fn no_step_leaves_what_the_corners_span() {
        for schedule in schedules() {
            let corners = schedule.corners().into_iter();
            let corners: Vec<f64> = corners.map(|step| schedule.value(step)).collect();
            let low = corners.iter().copied().fold(f64::INFINITY, f64::min);
            let high = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for step in (0..60).chain([u64::MAX - 1, u64::MAX]) {
                let value = schedule.value(step);
                let inside = (low - 1e-12..=high + 1e-12).contains(&value);
                assert!(inside, "{schedule} at {step}: {value}");
            }
        }
    }

    #[test]
    fn every_schedule_survives_json_and_has_a_text() {
        for schedule in schedules() {
            let json = serde_json::to_string(&schedule).unwrap();
            let back: Schedule = serde_json::from_str(&json).unwrap();
            assert_eq!(back, schedule, "{json}");
            assert!(schedule.check("rate").is_ok(), "{schedule}");
        }
    }

    #[test]
    fn arguments_that_make_no_sense_are_refused_by_name() {
        let refused = |schedule: Schedule| schedule.check("rate").unwrap_err().to_string();
        for (schedule, expected) in [
            (
                exponential_decay(1.0, 4, -0.5),
                "`rate.decay_rate` must be a finite number that is not negative, but it is -0.5",
            ),
            (
                polynomial_schedule(1.0, 0.0, f64::NAN, 4),
                "`rate.power` must be a finite number that is not negative, but it is NaN",
            ),
            (
                piecewise_constant_schedule(1.0, [(5, 0.5), (5, 2.0)]),
                "`rate.boundaries_and_scales` must be steps that rise, but it is 5 after one that is not below it",
            ),
            (
                join_schedules([constant_schedule(1.0)], [3]),
                "`rate.boundaries` must be one boundary less than schedules, but it is 1 for 1 schedules",
            ),
            (
                sgdr_schedule([]),
                "`rate.boundaries` must be one boundary less than schedules, but it is 0 for 0 schedules",
            ),
            (
                Schedule::CosineOnecycleSchedule(CosineOnecycleSchedule {
                    transition_steps: 10,
                    peak_value: 1.0,
                    pct_start: 1.5,
                    div_factor: 25.0,
                    final_div_factor: 1e4,
                }),
                "`rate.pct_start` must be a number from 0 to 1, but it is 1.5",
            ),
        ] {
            assert_eq!(refused(schedule), expected);
        }
    }

    /// A rate that grows for ever has no largest value.
    #[test]
    fn growth_without_an_end_is_refused_where_a_finite_number_is_needed() {
        let hyper = |schedule: Schedule| crate::Hyper::from(schedule);
        let growing = exponential_decay(1.0, 4, 2.0);
        assert!(hyper(growing).check("rate", Domain::NonNegative).is_err());
        let bounded = Schedule::ExponentialDecay(ExponentialDecay {
            init_value: 1.0,
            transition_steps: 4,
            decay_rate: 2.0,
            transition_begin: 0,
            staircase: false,
            end_value: Some(8.0),
        });
        assert!(hyper(bounded).check("rate", Domain::NonNegative).is_ok());
    }
}
