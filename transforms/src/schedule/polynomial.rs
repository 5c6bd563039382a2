//! A power of a straight line from one value to another.

use serde::{Deserialize, Serialize};

use super::{Curve, Schedule, finite};
use crate::error::Error;
use crate::hyper::Domain;

/// The arguments of [`polynomial_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolynomialSchedule {
    /// The value up to `transition_begin`.
    pub init_value: f64,
    /// The value from `transition_begin + transition_steps` on.
    pub end_value: f64,
    /// The power of what is left of the way: 1 is a straight line.
    pub power: f64,
    /// How many steps the way takes; 0 stays at `init_value` for ever.
    pub transition_steps: u64,
    /// How many steps come before the way begins.
    #[serde(default)]
    pub transition_begin: u64,
}

/// From `init_value` at step 0 to `end_value` at step `transition_steps` and on:
/// `(init_value - end_value) * (1 - step / transition_steps)^power + end_value`.
///
/// With 0 transition steps it stays at `init_value`, as optax does. Build [`PolynomialSchedule`] to begin later. `power` must be
/// finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::polynomial_schedule;
/// let s = polynomial_schedule(1.0, 0.0, 2.0, 10);
/// assert_eq!([s.value(0), s.value(5), s.value(10), s.value(99)], [1.0, 0.25, 0.0, 0.0]);
/// ```
pub fn polynomial_schedule(
    init_value: f64,
    end_value: f64,
    power: f64,
    transition_steps: u64,
) -> Schedule {
    Schedule::PolynomialSchedule(PolynomialSchedule {
        init_value,
        end_value,
        power,
        transition_steps,
        transition_begin: 0,
    })
}

impl PolynomialSchedule {
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
        (self.init_value - self.end_value) * left.powf(self.power) + self.end_value
    }
}

impl Curve for PolynomialSchedule {
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
        )?;
        Domain::NonNegative.check(&format!("{name}.power"), self.power)
    }

    fn corners(&self) -> Vec<u64> {
        vec![0, u64::MAX]
    }
}

impl std::fmt::Display for PolynomialSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "polynomial({} -> {}, power={}, {} steps from {})",
            self.init_value,
            self.end_value,
            self.power,
            self.transition_steps,
            self.transition_begin
        )
    }
}
