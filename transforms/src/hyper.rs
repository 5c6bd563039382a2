//! Hyper-parameters: a number or a schedule, perhaps with a name, and the values that make sense.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::error::Error;
use crate::program::Number;
use crate::schedule::Schedule;

/// A number or a [`Schedule`] of the step count, for every argument of a link that is a real number.
///
/// `f64` and [`Schedule`] convert into it. In serde data it is a number, a schedule, or one of them under a name; in formats that do not
/// say what comes next it is that as JSON text.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let fixed: Hyper = 0.9.into();
/// let decaying: Hyper = linear_schedule(1.0, 0.1, 10).into();
/// assert_eq!(fixed.at(7), 0.9);
/// assert_eq!(decaying.at(5), 0.55);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Hyper {
    /// The same number at every step.
    Number(Number),
    /// A function of the step count.
    Schedule(Schedule),
    /// The same under a name of the user's choice, instead of `"link.field"`.
    Named {
        /// The name.
        name: String,
        /// The value.
        value: Box<Hyper>,
    },
}

/// How it is written where the format says what comes next.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields, remote = "Hyper")]
enum Tagless {
    Number(Number),
    Schedule(Schedule),
    Named { name: String, value: Box<Hyper> },
}

impl Serialize for Hyper {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return Tagless::serialize(self, serializer);
        }
        let text = serde_json::to_string(self).map_err(ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Hyper {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Tagless::deserialize(deserializer);
        }
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map_err(de::Error::custom)
    }
}

impl Hyper {
    /// The value at a step: `step` steps have been taken before.
    pub fn at(&self, step: u64) -> f64 {
        match self {
            Self::Number(x) => x.0,
            Self::Schedule(schedule) => schedule.value(step),
            Self::Named { value, .. } => value.at(step),
        }
    }

    /// Whether it may change from step to step.
    pub fn is_schedule(&self) -> bool {
        matches!(self.unnamed(), Self::Schedule(_))
    }

    /// The same value under a name of one's own, for reading and setting it between steps. Hyper-parameters of one
    /// chain that have the same name and the same value are one.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        let value = match self {
            Self::Named { value, .. } => value,
            other => Box::new(other),
        };
        Self::Named {
            name: name.into(),
            value,
        }
    }

    /// The same value under `name`, unless the user has already chosen another.
    #[must_use]
    pub fn or_named(&self, name: &str) -> Self {
        match self {
            Self::Named { .. } => self.clone(),
            other => other.clone().named(name),
        }
    }

    /// The name the user gave it.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named { name, .. } => Some(name),
            _ => None,
        }
    }

    pub(crate) fn same_value(&self, other: &Self) -> bool {
        self.unnamed() == other.unnamed()
    }

    fn unnamed(&self) -> &Self {
        match self {
            Self::Named { value, .. } => value.unnamed(),
            other => other,
        }
    }

    /// Checks a number, or the arguments of a schedule and its values at its corners: the schedules run monotonically between
    /// them, so no step can leave the domain.
    ///
    /// # Errors
    /// [`Error::Hyper`] with the name, what was expected, and what came.
    pub fn check(&self, name: &str, domain: Domain) -> Result<(), Error> {
        match self.unnamed() {
            Self::Schedule(schedule) => {
                schedule.check(name)?;
                let mut corners = schedule.corners().into_iter();
                corners.try_for_each(|step| domain.check(name, schedule.value(step)))
            }
            number => domain.check(name, number.at(0)),
        }
    }
}

impl From<f64> for Hyper {
    fn from(x: f64) -> Self {
        Self::Number(Number(x))
    }
}

impl From<f32> for Hyper {
    fn from(x: f32) -> Self {
        Self::from(f64::from(x))
    }
}

impl From<i32> for Hyper {
    fn from(x: i32) -> Self {
        Self::from(f64::from(x))
    }
}

impl From<Schedule> for Hyper {
    fn from(schedule: Schedule) -> Self {
        Self::Schedule(schedule)
    }
}

impl std::fmt::Display for Hyper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.unnamed() {
            Self::Schedule(schedule) => write!(f, "{schedule}"),
            other => write!(f, "{}", Number(other.at(0))),
        }
    }
}

/// The values that make sense for a hyper-parameter. NaN never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// Any finite number.
    Finite,
    /// A finite number above 0.
    Positive,
    /// A finite number that is not negative.
    NonNegative,
    /// A bound: not negative, perhaps infinite.
    Bound,
    /// A decay of a debiased average: at least 0 and below 1.
    Decay,
    /// A share: from 0 to 1.
    Share,
    /// A share that is not 0: above 0, at most 1.
    PositiveShare,
    /// A whole number of at least 1.
    Count,
}

impl Domain {
    fn contains(self, x: f64) -> bool {
        match self {
            Self::Finite => x.is_finite(),
            Self::Positive => x.is_finite() && x > 0.0,
            Self::NonNegative => x.is_finite() && x >= 0.0,
            Self::Bound => x >= 0.0,
            Self::Decay => (0.0..1.0).contains(&x),
            Self::Share => (0.0..=1.0).contains(&x),
            Self::PositiveShare => x > 0.0 && x <= 1.0,
            Self::Count => x.is_finite() && x >= 1.0 && x.fract() == 0.0,
        }
    }

    /// Checks a value of the hyper-parameter `name`.
    ///
    /// # Errors
    /// [`Error::Hyper`] with the name, what was expected, and what came.
    pub fn check(self, name: &str, x: f64) -> Result<(), Error> {
        if self.contains(x) {
            return Ok(());
        }
        Err(Error::Hyper {
            name: name.to_owned(),
            expected: self.to_string(),
            got: x.to_string(),
        })
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Finite => "a finite number",
            Self::Positive => "a finite number above 0",
            Self::NonNegative => "a finite number that is not negative",
            Self::Bound => "a number that is not negative (infinity is allowed)",
            Self::Decay => "a number of at least 0 and below 1",
            Self::Share => "a number from 0 to 1",
            Self::PositiveShare => "a number above 0 and at most 1",
            Self::Count => "a whole number of at least 1",
        })
    }
}

/// Builder methods for hyper-parameters: `pub fn b1(self, b1: impl Into<Hyper>) -> Self`, a doc line and a field each.
macro_rules! hyper_setters {
    ($($(#[$doc:meta])* $name:ident $(in $part:ident)?;)*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: impl Into<$crate::hyper::Hyper>) -> Self {
                self $(.$part)? .$name = $name.into();
                self
            }
        )*
    };
}
pub(crate) use hyper_setters;
