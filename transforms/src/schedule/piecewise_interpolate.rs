//! Lines or cosine waves between given points.

use serde::{Deserialize, Serialize};

use super::piecewise_constant::{check_pieces, pairs};
use super::{Curve, Schedule, finite};
use crate::error::Error;

/// The way from one point to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// A straight line.
    Linear,
    /// Half a cosine wave.
    Cosine,
}

impl std::fmt::Display for Interpolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Linear => "linear",
            Self::Cosine => "cosine",
        })
    }
}

/// The arguments of [`piecewise_interpolate_schedule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PiecewiseInterpolateSchedule {
    /// The way from one point to the next.
    pub interpolate_type: Interpolation,
    /// The value at step 0.
    pub init_value: f64,
    /// Pairs of a step and a factor, in rising order: at that step the value is that of the last point times the factor.
    #[serde(default, deserialize_with = "pairs")]
    pub boundaries_and_scales: Vec<(u64, f64)>,
}

/// From `init_value` at step 0 to a point at each given step, whose value is that of the point before times its factor, and from
/// the last point on constant.
///
/// The steps must rise.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::{Interpolation, piecewise_interpolate_schedule};
/// let s = piecewise_interpolate_schedule(Interpolation::Linear, 1.0, [(4, 0.5), (8, 3.0)]);
/// assert_eq!([s.value(0), s.value(2), s.value(4), s.value(8), s.value(99)], [1.0, 0.75, 0.5, 1.5, 1.5]);
/// ```
pub fn piecewise_interpolate_schedule(
    interpolate_type: Interpolation,
    init_value: f64,
    boundaries_and_scales: impl Into<Vec<(u64, f64)>>,
) -> Schedule {
    Schedule::PiecewiseInterpolateSchedule(PiecewiseInterpolateSchedule {
        interpolate_type,
        init_value,
        boundaries_and_scales: boundaries_and_scales.into(),
    })
}

impl PiecewiseInterpolateSchedule {
    /// The value when `step` steps have been taken.
    #[allow(clippy::cast_precision_loss)] // step counts below 2^53
    pub fn value(&self, step: u64) -> f64 {
        let (mut begin, mut value) = (0, self.init_value);
        for (boundary, scale) in &self.boundaries_and_scales {
            let next = value * scale;
            if step < *boundary {
                let done = (step - begin) as f64 / (boundary - begin) as f64;
                let left = match self.interpolate_type {
                    Interpolation::Linear => 1.0 - done,
                    Interpolation::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
                };
                return next + (value - next) * left;
            }
            (begin, value) = (*boundary, next);
        }
        value
    }
}

impl Curve for PiecewiseInterpolateSchedule {
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

impl std::fmt::Display for PiecewiseInterpolateSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "piecewise_{}({}", self.interpolate_type, self.init_value)?;
        for (step, scale) in &self.boundaries_and_scales {
            write!(f, ", *{scale} at {step}")?;
        }
        write!(f, ")")
    }
}
