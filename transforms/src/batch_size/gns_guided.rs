//! A batch size that follows the gradient noise scale.

use serde::{Deserialize, Serialize};

use super::{at_least_one, refused};
use crate::error::Error;
use crate::hyper::Domain;

/// A number of micro-batches that follows the gradient noise scale. Built by [`gns_guided`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawGnsGuided")]
pub struct GnsGuided {
    min: usize,
    max: usize,
    per_micro_batch: f64,
    hysteresis: f64,
    multiple_of: usize,
    current: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGnsGuided {
    min: usize,
    max: usize,
    per_micro_batch: f64,
    #[serde(default = "hysteresis")]
    hysteresis: f64,
    #[serde(default = "one")]
    multiple_of: usize,
    current: Option<usize>,
}

fn hysteresis() -> f64 {
    0.1
}

fn one() -> usize {
    1
}

impl TryFrom<RawGnsGuided> for GnsGuided {
    type Error = Error;

    fn try_from(raw: RawGnsGuided) -> Result<Self, Error> {
        let mut schedule = gns_guided(raw.min, raw.max, raw.per_micro_batch)?
            .hysteresis(raw.hysteresis)?
            .multiple_of(raw.multiple_of)?;
        let current = raw.current.unwrap_or(raw.min);
        if !(raw.min..=raw.max).contains(&current) || !current.is_multiple_of(raw.multiple_of) {
            let expected = format!(
                "a multiple of {} from {} to {}",
                raw.multiple_of, raw.min, raw.max
            );
            return Err(refused("gns_guided.current", expected, current));
        }
        schedule.current = current;
        Ok(schedule)
    }
}

/// Takes as many micro-batches as hold the gradient noise scale, from `min` to `max`; it begins with `min`.
///
/// `per_micro_batch` is how much one micro-batch holds, in the units of the noise scale: examples for that of
/// [`monitor::gns`](crate::monitor::gns()), or tokens, if the scale is multiplied by the tokens of an example.
///
/// The number moves only when the one that is wanted differs from it by more than a share of it, the
/// [`hysteresis`](GnsGuided::hysteresis), 0.1 unless set. The noise scale is not averaged here: a ratio should not be, and
/// `monitor::gns` has averaged what it is a ratio of.
///
/// # Edge cases
/// | noise scale | result |
/// |--|--|
/// | NaN | the last number stays |
/// | infinite: no signal | `max`, whatever the hysteresis |
/// | 0, or below | `min` is wanted |
/// | between two [multiples](GnsGuided::multiple_of) | the nearest |
/// | within the hysteresis of the last number | the last number stays |
///
/// # Errors
/// `min` must be at least 1, `max` at least `min`, `per_micro_batch` finite and above 0.
///
/// # Example
/// ```
/// use pergrad_transforms::batch_size::gns_guided;
/// let mut schedule = gns_guided(2, 16, 32.0).unwrap().multiple_of(2).unwrap();
/// let mut after = |gns: f64| {
///     schedule.observe(gns);
///     schedule.micro_batches()
/// };
/// assert_eq!([200.0, 205.0, f64::NAN, f64::INFINITY].map(&mut after), [6, 6, 6, 16]);
/// ```
///
/// # Reference
/// Gray, Tiwari, Bergsma, Hestness, 2024, arXiv 2411.00999, whose schedule was drawn up from measured noise scales; McCandlish,
/// Kaplan, Amodei, 2018, arXiv 1812.06162. The hysteresis is ours.
pub fn gns_guided(min: usize, max: usize, per_micro_batch: f64) -> Result<GnsGuided, Error> {
    at_least_one("gns_guided.min", min)?;
    if max < min {
        let expected = format!("at least `min`, {min}");
        return Err(refused("gns_guided.max", expected, max));
    }
    Domain::Positive.check("gns_guided.per_micro_batch", per_micro_batch)?;
    Ok(GnsGuided {
        min,
        max,
        per_micro_batch,
        hysteresis: hysteresis(),
        multiple_of: one(),
        current: min,
    })
}

impl GnsGuided {
    /// By what share of the last number the wanted one must differ before it is taken: 0 follows at once.
    ///
    /// # Errors
    /// It must be finite and not negative.
    pub fn hysteresis(mut self, share: f64) -> Result<Self, Error> {
        Domain::NonNegative.check("gns_guided.hysteresis", share)?;
        self.hysteresis = share;
        Ok(self)
    }

    /// Takes multiples of this number only, such as the number of devices.
    ///
    /// # Errors
    /// It must be at least 1, and divide `min` and `max`.
    pub fn multiple_of(mut self, count: usize) -> Result<Self, Error> {
        at_least_one("gns_guided.multiple_of", count)?;
        if !self.min.is_multiple_of(count) || !self.max.is_multiple_of(count) {
            let expected = format!("a divisor of {} and {}", self.min, self.max);
            return Err(refused("gns_guided.multiple_of", expected, count));
        }
        self.multiple_of = count;
        Ok(self)
    }

    /// Takes in a gradient noise scale, in the units of `per_micro_batch`.
    #[allow(clippy::cast_precision_loss)] // counts below 2^53
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between two counts
    pub fn observe(&mut self, gns: f64) {
        if gns.is_nan() {
            return;
        }
        let (min, max, last) = (self.min as f64, self.max as f64, self.current as f64);
        let wanted = (gns / self.per_micro_batch).clamp(min, max);
        if gns == f64::INFINITY || (wanted - last).abs() > self.hysteresis * last {
            let multiple = self.multiple_of as f64;
            self.current = ((wanted / multiple).round() * multiple) as usize;
        }
    }

    /// How many micro-batches make the next step.
    pub fn micro_batches(&self) -> usize {
        self.current
    }
}
