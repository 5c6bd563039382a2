//! One cycle: up to a peak, and down to almost nothing, on straight lines.

use serde::{Deserialize, Serialize};

use super::{Curve, Interpolation, PiecewiseInterpolateSchedule, Schedule, finite};
use crate::error::Error;
use crate::hyper::Domain;

fn pct_start() -> f64 {
    0.3
}

fn pct_final() -> f64 {
    0.85
}

fn div_factor() -> f64 {
    25.0
}

fn final_div_factor() -> f64 {
    1e4
}

/// The arguments of [`linear_onecycle_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearOnecycleSchedule {
    /// How many steps the cycle takes.
    pub transition_steps: u64,
    /// The highest value.
    pub peak_value: f64,
    /// The share of the steps on the way up.
    #[serde(default = "pct_start")]
    pub pct_start: f64,
    /// The share of the steps after which the value is back at the first one.
    #[serde(default = "pct_final")]
    pub pct_final: f64,
    /// The peak over the first value.
    #[serde(default = "div_factor")]
    pub div_factor: f64,
    /// The first value over the last one.
    #[serde(default = "final_div_factor")]
    pub final_div_factor: f64,
}

/// Straight lines from `peak_value / div_factor` up to `peak_value`, back, and down to `peak_value / (div_factor *
/// final_div_factor)` at step `transition_steps`.
///
/// Defaults: `pct_start` 0.3, `pct_final` 0.85, `div_factor` 25, `final_div_factor` 1e4. The three parts must each take at least a
/// step.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::linear_onecycle_schedule;
/// let s = linear_onecycle_schedule(20, 1.0);
/// assert!((s.value(6) - 1.0).abs() < 1e-15, "the peak");
/// assert!((s.value(20) - 4e-6).abs() < 1e-15, "the end");
/// ```
pub fn linear_onecycle_schedule(transition_steps: u64, peak_value: f64) -> Schedule {
    Schedule::LinearOnecycleSchedule(LinearOnecycleSchedule {
        transition_steps,
        peak_value,
        pct_start: pct_start(),
        pct_final: pct_final(),
        div_factor: div_factor(),
        final_div_factor: final_div_factor(),
    })
}

impl LinearOnecycleSchedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        self.pieces().value(step)
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // step counts below 2^53, and shares of them
    fn pieces(&self) -> PiecewiseInterpolateSchedule {
        let steps = |share: f64| (share * self.transition_steps as f64) as u64;
        PiecewiseInterpolateSchedule {
            interpolate_type: Interpolation::Linear,
            init_value: self.peak_value / self.div_factor,
            boundaries_and_scales: vec![
                (steps(self.pct_start), self.div_factor),
                (steps(self.pct_final), 1.0 / self.div_factor),
                (self.transition_steps, 1.0 / self.final_div_factor),
            ],
        }
    }
}

impl Curve for LinearOnecycleSchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        for (argument, share) in [("pct_start", self.pct_start), ("pct_final", self.pct_final)] {
            Domain::Share.check(&format!("{name}.{argument}"), share)?;
        }
        finite(
            name,
            &[
                ("div_factor", self.div_factor),
                ("final_div_factor", self.final_div_factor),
            ],
        )?;
        Curve::check(&self.pieces(), name)
    }

    fn corners(&self) -> Vec<u64> {
        Curve::corners(&self.pieces())
    }
}

impl std::fmt::Display for LinearOnecycleSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "linear_onecycle({}, {} steps)",
            self.peak_value, self.transition_steps
        )
    }
}
