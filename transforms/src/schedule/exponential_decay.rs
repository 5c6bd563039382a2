//! A power of a factor, step by step.

use serde::{Deserialize, Serialize};

use super::{Curve, Schedule, finite};
use crate::error::Error;
use crate::hyper::Domain;

/// The arguments of [`exponential_decay`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExponentialDecay {
    /// The value before the decay begins.
    pub init_value: f64,
    /// In how many steps the value is multiplied by `decay_rate`; 0 stays at the first value for ever.
    pub transition_steps: u64,
    /// The factor; 0 stays at the first value for ever, above 1 grows.
    pub decay_rate: f64,
    /// How many steps come before the decay begins.
    #[serde(default)]
    pub transition_begin: u64,
    /// Whether the value falls in steps, once in `transition_steps`.
    #[serde(default)]
    pub staircase: bool,
    /// Where it stops; none unless set.
    #[serde(default)]
    pub end_value: Option<f64>,
}

/// `init_value * decay_rate^(step / transition_steps)`.
///
/// With 0 transition steps or a rate of 0 it stays at `init_value`, as optax does. Build [`ExponentialDecay`] to begin later, to
/// fall in steps (`staircase`) or to stop at an `end_value`. A rate above 1 grows, and needs an `end_value` to be accepted where
/// a finite number is expected. `decay_rate` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::exponential_decay;
/// let s = exponential_decay(1.0, 10, 0.25);
/// assert_eq!([s.value(0), s.value(5), s.value(10)], [1.0, 0.5, 0.25]);
/// ```
pub fn exponential_decay(init_value: f64, transition_steps: u64, decay_rate: f64) -> Schedule {
    Schedule::ExponentialDecay(ExponentialDecay {
        init_value,
        transition_steps,
        decay_rate,
        transition_begin: 0,
        staircase: false,
        end_value: None,
    })
}

impl ExponentialDecay {
    /// The value when `step` steps have been taken.
    #[allow(clippy::cast_precision_loss)] // step counts below 2^53
    pub fn value(&self, step: u64) -> f64 {
        let done = step.saturating_sub(self.transition_begin);
        let rests = self.transition_steps == 0 || self.decay_rate == 0.0;
        if rests {
            return self.init_value;
        }
        let turns = done as f64 / self.transition_steps as f64;
        let turns = if self.staircase { turns.floor() } else { turns };
        // 0 times an infinite power is no number.
        let value = if done == 0 || self.init_value == 0.0 {
            self.init_value
        } else {
            self.init_value * self.decay_rate.powf(turns)
        };
        match self.end_value {
            None => value,
            Some(end) if self.decay_rate < 1.0 => value.max(end),
            Some(end) => value.min(end),
        }
    }
}

impl Curve for ExponentialDecay {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        finite(
            name,
            &[
                ("init_value", self.init_value),
                ("end_value", self.end_value.unwrap_or(0.0)),
            ],
        )?;
        Domain::NonNegative.check(&format!("{name}.decay_rate"), self.decay_rate)
    }

    fn corners(&self) -> Vec<u64> {
        vec![0, u64::MAX]
    }
}

impl std::fmt::Display for ExponentialDecay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.staircase { ", staircase" } else { "" };
        write!(
            f,
            "exponential_decay({}, rate={} in {} steps from {}{kind}",
            self.init_value, self.decay_rate, self.transition_steps, self.transition_begin
        )?;
        match self.end_value {
            None => write!(f, ")"),
            Some(end) => write!(f, ", end={end})"),
        }
    }
}
