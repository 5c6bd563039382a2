//! A straight line from one value to another.

use serde::{Deserialize, Serialize};

use super::{Curve, Schedule, finite};
use crate::error::Error;

/// The arguments of [`linear_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearSchedule {
    /// The value up to `transition_begin`.
    pub init_value: f64,
    /// The value from `transition_begin + transition_steps` on.
    pub end_value: f64,
    /// How many steps the line takes; 0 stays at `init_value` for ever.
    pub transition_steps: u64,
    /// How many steps come before the line begins.
    #[serde(default)]
    pub transition_begin: u64,
}

/// A straight line from `init_value` at step 0 to `end_value` at step `transition_steps`, and `end_value` from there on.
///
/// With 0 transition steps it stays at `init_value`, as optax does. Build [`LinearSchedule`] to begin later.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::linear_schedule;
/// let s = linear_schedule(0.0, 1.0, 10);
/// assert_eq!([s.value(0), s.value(5), s.value(10), s.value(99)], [0.0, 0.5, 1.0, 1.0]);
/// ```
pub fn linear_schedule(init_value: f64, end_value: f64, transition_steps: u64) -> Schedule {
    Schedule::LinearSchedule(LinearSchedule {
        init_value,
        end_value,
        transition_steps,
        transition_begin: 0,
    })
}

impl LinearSchedule {
    /// The value when `step` steps have been taken.
    #[allow(clippy::cast_precision_loss)] // step counts below 2^53
    pub fn value(&self, step: u64) -> f64 {
        if self.transition_steps == 0 {
            return self.init_value;
        }
        let done = step
            .saturating_sub(self.transition_begin)
            .min(self.transition_steps);
        let left = 1.0 - done as f64 / self.transition_steps as f64;
        (self.init_value - self.end_value) * left + self.end_value
    }
}

impl Curve for LinearSchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        finite(
            name,
            &[
                ("init_value", self.init_value),
                ("end_value", self.end_value),
            ],
        )
    }

    fn corners(&self) -> Vec<u64> {
        vec![0, u64::MAX]
    }
}

impl std::fmt::Display for LinearSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "linear({} -> {}, {} steps from {})",
            self.init_value, self.end_value, self.transition_steps, self.transition_begin
        )
    }
}
