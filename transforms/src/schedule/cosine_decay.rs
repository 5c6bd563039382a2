//! Half a cosine wave down to a floor.

use serde::{Deserialize, Serialize};

use super::{Curve, Schedule, finite};
use crate::error::Error;

fn one() -> f64 {
    1.0
}

/// The arguments of [`cosine_decay_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CosineDecaySchedule {
    /// The value at step 0.
    pub init_value: f64,
    /// How many steps the decay takes; from then on the value stays at `alpha * init_value`.
    pub decay_steps: u64,
    /// The floor as a share of `init_value`.
    #[serde(default)]
    pub alpha: f64,
    /// The power of the wave.
    #[serde(default = "one")]
    pub exponent: f64,
}

/// Half a cosine wave from `init_value` at step 0 to 0 at step `decay_steps`; it stays there and does not rise again.
///
/// `init_value * ((1 - alpha) * (0.5 * (1 + cos(pi * t)))^exponent + alpha)`, `t = min(step / decay_steps, 1)`. Build
/// [`CosineDecaySchedule`] for a floor or another exponent.
///
/// With 0 decay steps it is at its floor from the first step.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::cosine_decay_schedule;
/// let s = cosine_decay_schedule(1.0, 10);
/// assert_eq!([s.value(0), s.value(10), s.value(15)], [1.0, 0.0, 0.0]);
/// ```
pub fn cosine_decay_schedule(init_value: f64, decay_steps: u64) -> Schedule {
    Schedule::CosineDecaySchedule(CosineDecaySchedule {
        init_value,
        decay_steps,
        alpha: 0.0,
        exponent: 1.0,
    })
}

impl CosineDecaySchedule {
    /// The value when `step` steps have been taken.
    #[allow(clippy::cast_precision_loss)] // step counts below 2^53
    pub fn value(&self, step: u64) -> f64 {
        let t = if self.decay_steps == 0 {
            1.0
        } else {
            step.min(self.decay_steps) as f64 / self.decay_steps as f64
        };
        let wave = 0.5 * (1.0 + (std::f64::consts::PI * t).cos());
        self.init_value * ((1.0 - self.alpha) * wave.powf(self.exponent) + self.alpha)
    }
}

impl Curve for CosineDecaySchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        finite(
            name,
            &[
                ("init_value", self.init_value),
                ("alpha", self.alpha),
                ("exponent", self.exponent),
            ],
        )
    }

    fn corners(&self) -> Vec<u64> {
        vec![0, u64::MAX]
    }
}

impl std::fmt::Display for CosineDecaySchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cosine_decay({}, {} steps, alpha={}, exponent={})",
            self.init_value, self.decay_steps, self.alpha, self.exponent
        )
    }
}
