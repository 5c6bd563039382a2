//! Schedules: hyper-parameters as functions of the step count.
//!
//! A schedule is evaluated at the count *before* the step: the first update sees `value(0)`. It is computed on the
//! host in f64. Names, arguments and edge cases are those of optax.

mod cosine_decay;
mod linear;
mod warmup_cosine_decay;

use serde::{Deserialize, Serialize};

pub use cosine_decay::{CosineDecaySchedule, cosine_decay_schedule};
pub use linear::{LinearSchedule, linear_schedule};
pub use warmup_cosine_decay::{WarmupCosineDecaySchedule, warmup_cosine_decay_schedule};

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
    /// See [`cosine_decay_schedule`].
    CosineDecaySchedule(CosineDecaySchedule),
    /// See [`warmup_cosine_decay_schedule`].
    WarmupCosineDecaySchedule(WarmupCosineDecaySchedule),
}

/// The same value at every step.
pub fn constant_schedule(value: f64) -> Schedule {
    Schedule::ConstantSchedule { value }
}

impl Schedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        match self {
            Self::ConstantSchedule { value } => *value,
            Self::LinearSchedule(s) => s.value(step),
            Self::CosineDecaySchedule(s) => s.value(step),
            Self::WarmupCosineDecaySchedule(s) => s.value(step),
        }
    }

    /// Checks the arguments of the schedule of the hyper-parameter `name`.
    pub(crate) fn check(&self, name: &str) -> Result<(), Error> {
        for (argument, value) in self.arguments() {
            Domain::Finite.check(&format!("{name}.{argument}"), value)?;
        }
        Ok(())
    }

    /// Steps between which the schedule runs monotonically; the last one stands for all later steps.
    pub(crate) fn corners(&self) -> Vec<u64> {
        match self {
            Self::ConstantSchedule { .. } => vec![0],
            Self::LinearSchedule(_) | Self::CosineDecaySchedule(_) => vec![0, u64::MAX],
            Self::WarmupCosineDecaySchedule(s) => vec![0, s.warmup_steps, u64::MAX],
        }
    }

    fn arguments(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::ConstantSchedule { value } => vec![("value", *value)],
            Self::LinearSchedule(s) => s.arguments(),
            Self::CosineDecaySchedule(s) => s.arguments(),
            Self::WarmupCosineDecaySchedule(s) => s.arguments(),
        }
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ConstantSchedule { value } => write!(f, "{value}"),
            Self::LinearSchedule(s) => write!(
                f,
                "linear({} -> {}, {} steps from {})",
                s.init_value, s.end_value, s.transition_steps, s.transition_begin
            ),
            Self::CosineDecaySchedule(s) => write!(
                f,
                "cosine_decay({}, {} steps, alpha={}, exponent={})",
                s.init_value, s.decay_steps, s.alpha, s.exponent
            ),
            Self::WarmupCosineDecaySchedule(s) => write!(
                f,
                "warmup_cosine_decay({} -> {} -> {}, warmup={}, decay={}, exponent={})",
                s.init_value, s.peak_value, s.end_value, s.warmup_steps, s.decay_steps, s.exponent
            ),
        }
    }
}
