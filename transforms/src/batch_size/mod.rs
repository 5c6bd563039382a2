//! How many micro-batches make the next step.
//!
//! A step over a larger batch is a sum over micro-batches. How many of them to take may change in the course of training: with
//! the tokens seen, or with the gradient noise scale that [`monitor::gns`](crate::monitor::gns()) measures. A
//! [`BatchSizeSchedule`] is plain data, asked between steps by whoever feeds the batches; no link reads it.

mod gns_guided;
mod linear_in_tokens;

use serde::{Deserialize, Serialize};

pub use gns_guided::{GnsGuided, gns_guided};
pub use linear_in_tokens::{LinearInTokens, linear_in_tokens};

use crate::error::Error;
use crate::hyper::Domain;

/// How many micro-batches make the next step. Serde data carries the name of the rule under `"batch_size"`, and is checked as
/// the constructors check.
///
/// # Example
/// ```
/// use pergrad_transforms::batch_size::{BatchSizeSchedule, gns_guided, linear_in_tokens};
///
/// let growing: BatchSizeSchedule = linear_in_tokens(2, 15, 1_000_000).unwrap().into();
/// assert_eq!(growing.micro_batches(0), 2);
/// assert_eq!(growing.micro_batches(1_000_000), 15);
///
/// // Micro-batches of 8 examples; the noise scale is in examples too.
/// let mut guided: BatchSizeSchedule = gns_guided(1, 64, 8.0).unwrap().into();
/// guided.observe(240.0);
/// assert_eq!(guided.micro_batches(0), 30);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "batch_size", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BatchSizeSchedule {
    /// See [`linear_in_tokens`].
    LinearInTokens(LinearInTokens),
    /// See [`gns_guided`].
    GnsGuided(GnsGuided),
}

impl BatchSizeSchedule {
    /// Takes in a gradient noise scale, in the units the schedule was built with. One that does not look at it ignores it.
    pub fn observe(&mut self, gns: f64) {
        match self {
            Self::LinearInTokens(_) => {}
            Self::GnsGuided(schedule) => schedule.observe(gns),
        }
    }

    /// How many micro-batches make the next step, at least 1, when the steps before have seen this many tokens.
    pub fn micro_batches(&self, tokens_seen: u64) -> usize {
        match self {
            Self::LinearInTokens(schedule) => schedule.micro_batches(tokens_seen),
            Self::GnsGuided(schedule) => schedule.micro_batches(),
        }
    }
}

impl From<LinearInTokens> for BatchSizeSchedule {
    fn from(schedule: LinearInTokens) -> Self {
        Self::LinearInTokens(schedule)
    }
}

impl From<GnsGuided> for BatchSizeSchedule {
    fn from(schedule: GnsGuided) -> Self {
        Self::GnsGuided(schedule)
    }
}

/// Checks that a count is at least 1.
#[allow(clippy::cast_precision_loss)] // only 0 is refused
fn at_least_one(name: &str, count: usize) -> Result<(), Error> {
    Domain::Count.check(name, count as f64)
}

fn refused(name: &str, expected: String, got: usize) -> Error {
    Error::Hyper {
        name: name.to_owned(),
        expected,
        got: got.to_string(),
    }
}
