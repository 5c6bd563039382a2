//! A straight line up, then half a cosine wave down.

use serde::{Deserialize, Serialize};

use super::{CosineDecaySchedule, Curve, LinearSchedule, Schedule, finite};
use crate::error::Error;

fn one() -> f64 {
    1.0
}

/// The arguments of [`warmup_cosine_decay_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmupCosineDecaySchedule {
    /// The value at step 0.
    pub init_value: f64,
    /// The value at step `warmup_steps`.
    pub peak_value: f64,
    /// How many steps the line takes.
    pub warmup_steps: u64,
    /// How many steps line and wave take together.
    pub decay_steps: u64,
    /// The value from step `decay_steps` on.
    #[serde(default)]
    pub end_value: f64,
    /// The power of the wave.
    #[serde(default = "one")]
    pub exponent: f64,
}

/// A line from `init_value` up to `peak_value` at step `warmup_steps`, then half a cosine wave down to 0 at step
/// `decay_steps`.
///
/// `decay_steps` includes the warm-up. Build [`WarmupCosineDecaySchedule`] for another end value or exponent.
///
/// If `decay_steps` is not above `warmup_steps`, there is no wave: the end value follows the line.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::warmup_cosine_decay_schedule;
/// let s = warmup_cosine_decay_schedule(0.0, 1.0, 5, 20);
/// assert_eq!([s.value(0), s.value(5), s.value(20), s.value(30)], [0.0, 1.0, 0.0, 0.0]);
/// ```
pub fn warmup_cosine_decay_schedule(
    init_value: f64,
    peak_value: f64,
    warmup_steps: u64,
    decay_steps: u64,
) -> Schedule {
    Schedule::WarmupCosineDecaySchedule(WarmupCosineDecaySchedule {
        init_value,
        peak_value,
        warmup_steps,
        decay_steps,
        end_value: 0.0,
        exponent: 1.0,
    })
}

impl WarmupCosineDecaySchedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        if step < self.warmup_steps {
            return LinearSchedule {
                init_value: self.init_value,
                end_value: self.peak_value,
                transition_steps: self.warmup_steps,
                transition_begin: 0,
            }
            .value(step);
        }
        let alpha = if self.peak_value == 0.0 {
            0.0
        } else {
            self.end_value / self.peak_value
        };
        CosineDecaySchedule {
            init_value: self.peak_value,
            decay_steps: self.decay_steps.saturating_sub(self.warmup_steps),
            alpha,
            exponent: self.exponent,
        }
        .value(step - self.warmup_steps)
    }
}

impl Curve for WarmupCosineDecaySchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        finite(
            name,
            &[
                ("init_value", self.init_value),
                ("peak_value", self.peak_value),
                ("end_value", self.end_value),
                ("exponent", self.exponent),
            ],
        )
    }

    fn corners(&self) -> Vec<u64> {
        vec![0, self.warmup_steps, u64::MAX]
    }
}

impl std::fmt::Display for WarmupCosineDecaySchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "warmup_cosine_decay({} -> {} -> {}, warmup={}, decay={}, exponent={})",
            self.init_value,
            self.peak_value,
            self.end_value,
            self.warmup_steps,
            self.decay_steps,
            self.exponent
        )
    }
}
