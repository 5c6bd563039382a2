//! Constants that are multiplied by a factor at given steps.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Curve, Schedule, finite, rising};
use crate::error::Error;

/// The arguments of [`piecewise_constant_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PiecewiseConstantSchedule {
    /// The value at step 0.
    pub init_value: f64,
    /// Pairs of a step and a factor, in rising order: from that step on the value is multiplied by the factor.
    #[serde(default, deserialize_with = "pairs")]
    pub boundaries_and_scales: Vec<(u64, f64)>,
}

/// `init_value`, multiplied by each factor from its step on. The step of a boundary belongs to the part after it.
///
/// The steps must rise.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::piecewise_constant_schedule;
/// let s = piecewise_constant_schedule(1.0, [(10, 0.5), (20, 0.1)]);
/// assert_eq!([s.value(9), s.value(10), s.value(20)], [1.0, 0.5, 0.05]);
/// ```
pub fn piecewise_constant_schedule(
    init_value: f64,
    boundaries_and_scales: impl Into<Vec<(u64, f64)>>,
) -> Schedule {
    Schedule::PiecewiseConstantSchedule(PiecewiseConstantSchedule {
        init_value,
        boundaries_and_scales: boundaries_and_scales.into(),
    })
}

impl PiecewiseConstantSchedule {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        let reached = self.boundaries_and_scales.iter();
        let reached = reached.take_while(|(boundary, _)| *boundary <= step);
        reached.fold(self.init_value, |value, (_, scale)| value * scale)
    }
}

impl Curve for PiecewiseConstantSchedule {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        finite(name, &[("init_value", self.init_value)])?;
        check_pieces(name, &self.boundaries_and_scales)
    }

    fn corners(&self) -> Vec<u64> {
        let steps = self.boundaries_and_scales.iter().map(|(step, _)| *step);
        std::iter::once(0).chain(steps).collect()
    }
}

impl std::fmt::Display for PiecewiseConstantSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "piecewise_constant({}", self.init_value)?;
        for (step, scale) in &self.boundaries_and_scales {
            write!(f, ", *{scale} from {step}")?;
        }
        write!(f, ")")
    }
}

/// Reads pairs of a step and a factor; `null` is none.
pub(super) fn pairs<'de, D: Deserializer<'de>>(data: D) -> Result<Vec<(u64, f64)>, D::Error> {
    Ok(Option::deserialize(data)?.unwrap_or_default())
}

/// Checks the pairs of a schedule in pieces.
pub(super) fn check_pieces(name: &str, pieces: &[(u64, f64)]) -> Result<(), Error> {
    let argument = "boundaries_and_scales";
    pieces
        .iter()
        .try_for_each(|(_, scale)| finite(name, &[(argument, *scale)]))?;
    rising(name, argument, pieces.iter().map(|(step, _)| *step))
}
