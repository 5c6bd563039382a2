//! A straight line up, then an exponential decay.

use serde::{Deserialize, Serialize};

use super::{Curve, ExponentialDecay, Schedule, finite, linear_schedule};
use crate::error::Error;

/// The arguments of [`warmup_exponential_decay_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmupExponentialDecaySchedule {
    /// The value at step 0.
    pub init_value: f64,
    /// The value at step `warmup_steps`.
    pub peak_value: f64,
    /// How many steps the line takes.
    pub warmup_steps: u64,
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

/// A line from `init_value` up to `peak_value` at step `warmup_steps`, then [`exponential_decay`](super::exponential_decay())
/// from there.
///
/// Build [`WarmupExponentialDecaySchedule`] for the further arguments of the decay, whose steps count from the end of the
/// warm-up.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::warmup_exponential_decay_schedule;
/// let s = warmup_exponential_decay_schedule(0.0, 1.0, 2, 10, 0.5);
/// assert_eq!([s.value(0), s.value(1), s.value(2), s.value(12)], [0.0, 0.5, 1.0, 0.5]);
/// ```
pub fn warmup_exponential_decay_schedule(
    init_value: f64,
    peak_value: f64,
    warmup_steps: u64,
    transition_steps: u64,
    decay_rate: f64,
) -> Schedule {
    Schedule::WarmupExponentialDecaySchedule(WarmupExponentialDecaySchedule {
        init_value,
        peak_value,
        warmup_steps,
        transition_steps,
        decay_rate,
        transition_begin: 0,
        staircase: false,
        end_value: None,
    })
}

impl WarmupExponentialDecaySchedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        match step.checked_sub(self.warmup_steps) {
            None => {
                linear_schedule(self.init_value, self.peak_value, self.warmup_steps).value(step)
            }
            Some(after) => self.decay().value(after),
        }
    }

    fn decay(&self) -> ExponentialDecay {
        ExponentialDecay {
            init_value: self.peak_value,
            transition_steps: self.transition_steps,
            decay_rate: self.decay_rate,
            transition_begin: self.transition_begin,
            staircase: self.staircase,
            end_value: self.end_value,
        }
    }
}

impl Curve for WarmupExponentialDecaySchedule {
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
        )?;
        Curve::check(&self.decay(), name)
    }

    fn corners(&self) -> Vec<u64> {
        vec![0, self.warmup_steps, u64::MAX]
    }
}

impl std::fmt::Display for WarmupExponentialDecaySchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "warmup({} in {} steps), {}",
            self.init_value,
            self.warmup_steps,
            self.decay()
        )
    }
}
