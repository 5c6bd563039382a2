//! Schedules one after the other.

use serde::{Deserialize, Serialize};

use super::{Curve, Schedule, rising};
use crate::error::Error;

/// The arguments of [`join_schedules`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinSchedules {
    /// The schedules in order.
    pub schedules: Vec<Schedule>,
    /// The step at which each but the first takes over, in rising order.
    pub boundaries: Vec<u64>,
}

/// The first schedule up to the first boundary, then the second, and so on. Each counts its steps from its own beginning, and
/// the step of a boundary belongs to the later one, at its step 0.
///
/// There must be one boundary less than schedules, and the boundaries must rise.
///
/// # Example
/// ```
/// use pergrad_transforms::schedule::{constant_schedule, join_schedules, linear_schedule};
/// let s = join_schedules([linear_schedule(0.0, 1.0, 4), constant_schedule(0.5)], [4]);
/// assert_eq!([s.value(0), s.value(3), s.value(4)], [0.0, 0.75, 0.5]);
/// ```
pub fn join_schedules(
    schedules: impl Into<Vec<Schedule>>,
    boundaries: impl Into<Vec<u64>>,
) -> Schedule {
    Schedule::JoinSchedules(JoinSchedules {
        schedules: schedules.into(),
        boundaries: boundaries.into(),
    })
}

impl JoinSchedules {
    /// The value when `step` steps have been taken.
    pub fn value(&self, step: u64) -> f64 {
        let at = self
            .boundaries
            .partition_point(|boundary| *boundary <= step);
        // Without schedules nothing is known; the check refuses that.
        let schedule = self.schedules.get(at);
        schedule.map_or(f64::NAN, |schedule| schedule.value(step - self.begin(at)))
    }

    /// The first step of a schedule.
    fn begin(&self, at: usize) -> u64 {
        match at {
            0 => 0,
            at => self.boundaries.get(at - 1).copied().unwrap_or(0),
        }
    }
}

impl Curve for JoinSchedules {
    fn value(&self, step: u64) -> f64 {
        self.value(step)
    }

    fn check(&self, name: &str) -> Result<(), Error> {
        if self.schedules.len() != self.boundaries.len() + 1 {
            return Err(Error::Hyper {
                name: format!("{name}.boundaries"),
                expected: "one boundary less than schedules".to_owned(),
                got: format!(
                    "{} for {} schedules",
                    self.boundaries.len(),
                    self.schedules.len()
                ),
            });
        }
        rising(name, "boundaries", self.boundaries.iter().copied())?;
        self.schedules
            .iter()
            .try_for_each(|schedule| schedule.check(name))
    }

    fn corners(&self) -> Vec<u64> {
        let mut corners = Vec::new();
        for (at, schedule) in self.schedules.iter().enumerate() {
            let last = self
                .boundaries
                .get(at)
                .map_or(u64::MAX, |end| end.saturating_sub(1));
            let steps = schedule.corners().into_iter();
            corners.extend(steps.map(|step| step.saturating_add(self.begin(at)).min(last)));
            corners.push(last);
        }
        corners
    }
}

impl std::fmt::Display for JoinSchedules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "join(")?;
        for (at, schedule) in self.schedules.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{schedule} from {}", self.begin(at))?;
        }
        write!(f, ")")
    }
}
