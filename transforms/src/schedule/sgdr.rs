//! Cosine decays with warm restarts.

use serde::{Deserialize, Serialize};

use super::{Curve, JoinSchedules, Schedule, WarmupCosineDecaySchedule};
use crate::error::Error;

/// The arguments of [`sgdr_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SgdrSchedule {
    /// A warm-up and a cosine decay for each cycle.
    pub cosine_kwargs: Vec<WarmupCosineDecaySchedule>,
}

/// Cycles of a warm-up and half a cosine wave, one after the other: [`warmup_cosine_decay_schedule`](super::warmup_cosine_decay_schedule)s, each of which lasts its
/// `decay_steps`; the last one stays at its end.
///
/// There must be at least one cycle, and each must take at least a step.
///
/// # Reference
/// Loshchilov, Hutter, 2016, arXiv 1608.03983.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::{WarmupCosineDecaySchedule, sgdr_schedule};
/// let cycle = |peak_value| WarmupCosineDecaySchedule {
///     init_value: 0.0,
///     peak_value,
///     warmup_steps: 2,
///     decay_steps: 10,
///     end_value: 0.0,
///     exponent: 1.0,
/// };
/// let s = sgdr_schedule([cycle(1.0), cycle(0.5)]);
/// assert_eq!([s.value(2), s.value(10), s.value(12)], [1.0, 0.0, 0.5]);
/// ```
pub fn sgdr_schedule(cosine_kwargs: impl Into<Vec<WarmupCosineDecaySchedule>>) -> Schedule {
    Schedule::SgdrSchedule(SgdrSchedule {
        cosine_kwargs: cosine_kwargs.into(),
    })
}

impl SgdrSchedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        self.joined().value(step)
    }

    fn joined(&self) -> JoinSchedules {
        let cycles = self.cosine_kwargs.iter().cloned();
        let mut boundaries: Vec<u64> = Vec::new();
        for cycle in &self.cosine_kwargs {
            let begin = boundaries.last().copied().unwrap_or(0);
            boundaries.push(begin.saturating_add(cycle.decay_steps));
        }
        boundaries.pop();
        JoinSchedules {
            schedules: cycles.map(Schedule::WarmupCosineDecaySchedule).collect(),
            boundaries,
        }
    }
}

impl Curve for SgdrSchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        Curve::check(&self.joined(), name)
    }

    fn corners(&self) -> Vec<u64> {
        Curve::corners(&self.joined())
    }
}

impl std::fmt::Display for SgdrSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sgdr({})", self.joined())
    }
}
