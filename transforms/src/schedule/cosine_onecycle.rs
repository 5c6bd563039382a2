//! One cycle: up to a peak, and down to almost nothing, on cosine waves.

use serde::{Deserialize, Serialize};

use super::{Curve, Interpolation, PiecewiseInterpolateSchedule, Schedule, finite};
use crate::error::Error;
use crate::hyper::Domain;

fn pct_start() -> f64 {
    0.3
}

fn div_factor() -> f64 {
    25.0
}

fn final_div_factor() -> f64 {
    1e4
}

/// The arguments of [`cosine_onecycle_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CosineOnecycleSchedule {
    /// How many steps the cycle takes.
    pub transition_steps: u64,
    /// The highest value.
    pub peak_value: f64,
    /// The share of the steps on the way up.
    #[serde(default = "pct_start")]
    pub pct_start: f64,
    /// The peak over the first value.
    #[serde(default = "div_factor")]
    pub div_factor: f64,
    /// The first value over the last one.
    #[serde(default = "final_div_factor")]
    pub final_div_factor: f64,
}

/// Half a cosine wave from `peak_value / div_factor` up to `peak_value`, and half a one down to `peak_value / (div_factor *
/// final_div_factor)` at step `transition_steps`.
///
/// Defaults: `pct_start` 0.3, `div_factor` 25, `final_div_factor` 1e4. Both parts must each take at least a step.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::cosine_onecycle_schedule;
/// let s = cosine_onecycle_schedule(20, 1.0);
/// assert!((s.value(6) - 1.0).abs() < 1e-15, "the peak");
/// assert!((s.value(20) - 4e-6).abs() < 1e-15, "the end");
/// ```
pub fn cosine_onecycle_schedule(transition_steps: u64, peak_value: f64) -> Schedule {
    Schedule::CosineOnecycleSchedule(CosineOnecycleSchedule {
        transition_steps,
        peak_value,
        pct_start: pct_start(),
        div_factor: div_factor(),
        final_div_factor: final_div_factor(),
    })
}

impl CosineOnecycleSchedule {
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
            interpolate_type: Interpolation::Cosine,
            init_value: self.peak_value / self.div_factor,
            boundaries_and_scales: vec![
                (steps(self.pct_start), self.div_factor),
                (
                    self.transition_steps,
                    1.0 / (self.div_factor * self.final_div_factor),
                ),
            ],
        }
    }
}

impl Curve for CosineOnecycleSchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        Domain::Share.check(&format!("{name}.pct_start"), self.pct_start)?;
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

impl std::fmt::Display for CosineOnecycleSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cosine_onecycle({}, {} steps)",
            self.peak_value, self.transition_steps
        )
    }
}
