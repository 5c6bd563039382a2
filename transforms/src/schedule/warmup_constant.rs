//! A straight line up, then a constant.

use serde::{Deserialize, Serialize};

use super::{Curve, Schedule, finite, linear_schedule};
use crate::error::Error;

/// The arguments of [`warmup_constant_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmupConstantSchedule {
    /// The value at step 0.
    pub init_value: f64,
    /// The value from step `warmup_steps` on.
    pub peak_value: f64,
    /// How many steps the line takes; 0 stays at `init_value` for ever.
    pub warmup_steps: u64,
}

/// A line from `init_value` up to `peak_value` at step `warmup_steps`, and `peak_value` from there on.
///
/// With 0 warm-up steps it stays at `init_value`, as optax does.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::warmup_constant_schedule;
/// let s = warmup_constant_schedule(0.0, 1.0, 10);
/// assert_eq!([s.value(0), s.value(5), s.value(10), s.value(99)], [0.0, 0.5, 1.0, 1.0]);
/// ```
pub fn warmup_constant_schedule(init_value: f64, peak_value: f64, warmup_steps: u64) -> Schedule {
    Schedule::WarmupConstantSchedule(WarmupConstantSchedule {
        init_value,
        peak_value,
        warmup_steps,
    })
}

impl WarmupConstantSchedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        linear_schedule(self.init_value, self.peak_value, self.warmup_steps).value(step)
    }
}

impl Curve for WarmupConstantSchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        finite(
            name,
            &[
                ("init_value", self.init_value),
                ("peak_value", self.peak_value),
            ],
        )
    }

    fn corners(&self) -> Vec<u64> {
        vec![0, u64::MAX]
    }
}

impl std::fmt::Display for WarmupConstantSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "warmup_constant({} -> {}, warmup={})",
            self.init_value, self.peak_value, self.warmup_steps
        )
    }
}
