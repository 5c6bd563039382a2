//! An accountant: what all steps together cost.

use serde::{Deserialize, Serialize};

use super::convert::{delta_of_rdp, epsilon_of_rdp, epsilon_of_rdp_classic};
use super::renyi::is_order;
use super::{rdp_subsampled_gaussian, require};
use crate::error::Error;
use crate::program::Number;

/// Adds up the Rényi divergences of steps, at several orders, and tells the best (ε, δ) among them. Plain serde data, so it can be
/// saved with the state of a run: infinite divergences too, in JSON as `"inf"`. What is read is checked as the constructors check, and
/// divergences that are negative or NaN are refused.
///
/// # Example
/// A run whose noise was doubled half way.
/// ```
/// use pergrad_transforms::privacy::RdpAccountant;
/// let mut spent = RdpAccountant::new();
/// spent.compose(1.0, 0.01, 500).unwrap();
/// spent.compose(2.0, 0.01, 500).unwrap();
/// assert!(spent.epsilon(1e-5).unwrap() < 2.0);
/// ```
///
/// # Reference
/// Mironov, 2017, arXiv 1702.07476, proposition 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawRdpAccountant", into = "RawRdpAccountant")]
pub struct RdpAccountant {
    /// The orders with what they have spent.
    spent: Vec<(f64, f64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRdpAccountant {
    spent: Vec<(Number, Number)>,
}

impl From<RdpAccountant> for RawRdpAccountant {
    fn from(accountant: RdpAccountant) -> Self {
        let spent = accountant.spent.into_iter();
        Self {
            spent: spent.map(|(a, rdp)| (Number(a), Number(rdp))).collect(),
        }
    }
}

impl TryFrom<RawRdpAccountant> for RdpAccountant {
    type Error = Error;

    fn try_from(raw: RawRdpAccountant) -> Result<Self, Error> {
        let orders = raw.spent.iter().map(|(order, _)| order.0);
        let mut accountant = Self::with_orders(orders)?;
        for ((_, spent), (_, Number(rdp))) in accountant.spent.iter_mut().zip(raw.spent) {
            require(rdp >= 0.0, "spent", "numbers that are not negative", rdp)?;
            *spent = rdp;
        }
        Ok(accountant)
    }
}

impl Default for RdpAccountant {
    fn default() -> Self {
        Self::new()
    }
}

impl RdpAccountant {
    /// With the orders 1.1, 1.2, .. 10.9, 11, 12, .. 63, 128, 256, 512 and 1024, as Google's `dp-accounting`.
    pub fn new() -> Self {
        let tenths = (11..110).map(|n| f64::from(n) / 10.0);
        let whole = (11..64).chain([128, 256, 512, 1024]).map(f64::from);
        let spent = tenths.chain(whole).map(|order| (order, 0.0));
        Self {
            spent: spent.collect(),
        }
    }

    /// With these orders.
    ///
    /// # Errors
    /// Each must be above 1 and at most 1e6, and there must be one.
    pub fn with_orders(orders: impl IntoIterator<Item = f64>) -> Result<Self, Error> {
        let spent: Vec<_> = orders.into_iter().map(|order| (order, 0.0)).collect();
        require(!spent.is_empty(), "orders", "at least one order", 0.0)?;
        for (order, _) in &spent {
            let expected = "numbers above 1 and at most 1000000";
            require(is_order(*order), "orders", expected, *order)?;
        }
        Ok(Self { spent })
    }

    /// Adds `steps` steps of noise multiplier `sigma`, over batches in which each example is with probability `rate`.
    ///
    /// # Errors
    /// `sigma` must not be negative, and `rate` be from 0 to 1; then nothing is added.
    pub fn compose(&mut self, sigma: f64, rate: f64, steps: u64) -> Result<(), Error> {
        let mut next = self.spent.clone();
        #[allow(clippy::cast_precision_loss)] // steps below 2^53
        let steps = steps as f64;
        for (order, spent) in &mut next {
            let rdp = rdp_subsampled_gaussian(sigma, rate, *order)?;
            // Of an infinite one, no step is none.
            *spent += if steps == 0.0 { 0.0 } else { steps * rdp };
        }
        self.spent = next;
        Ok(())
    }

    /// The orders with the divergence that was spent at each.
    pub fn spent(&self) -> &[(f64, f64)] {
        &self.spent
    }

    /// The least ε for a `delta` over all orders, by [`epsilon_of_rdp`].
    ///
    /// # Errors
    /// `delta` must be above 0 and below 1.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Error> {
        self.least(delta, epsilon_of_rdp)
    }

    /// The same by [`epsilon_of_rdp_classic`].
    ///
    /// # Errors
    /// `delta` must be above 0 and below 1.
    pub fn epsilon_classic(&self, delta: f64) -> Result<f64, Error> {
        self.least(delta, epsilon_of_rdp_classic)
    }

    fn least(&self, delta: f64, epsilon: fn(f64, f64, f64) -> f64) -> Result<f64, Error> {
        let holds = delta > 0.0 && delta < 1.0;
        require(holds, "delta", "a number above 0 and below 1", delta)?;
        let all = self
            .spent
            .iter()
            .map(|(order, rdp)| epsilon(*rdp, *order, delta));
        Ok(all.fold(f64::INFINITY, f64::min))
    }

    /// The least δ for an `epsilon` over all orders, by [`delta_of_rdp`].
    ///
    /// # Errors
    /// `epsilon` must not be negative.
    pub fn delta(&self, epsilon: f64) -> Result<f64, Error> {
        let expected = "a number that is not negative";
        require(epsilon >= 0.0, "epsilon", expected, epsilon)?;
        let all = self
            .spent
            .iter()
            .map(|(order, rdp)| delta_of_rdp(*rdp, *order, epsilon));
        Ok(all.fold(1.0, f64::min))
    }
}

/// The ε that `steps` steps of noise multiplier `sigma` spend for a `delta`, over batches in which each example is with
/// probability `rate`.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `sigma` 0 | infinite |
/// | no steps, or `rate` 0 | 0 |
///
/// # Errors
/// `sigma` must not be negative, `rate` be from 0 to 1, and `delta` above 0 and below 1.
///
/// # Example
/// ```
/// use pergrad_transforms::privacy;
/// assert!(privacy::epsilon(1.0, 0.01, 1000, 1e-5).unwrap() < 2.2);
/// ```
pub fn epsilon(sigma: f64, rate: f64, steps: u64, delta: f64) -> Result<f64, Error> {
    let mut accountant = RdpAccountant::new();
    accountant.compose(sigma, rate, steps)?;
    accountant.epsilon(delta)
}

/// The least noise multiplier with which `steps` steps spend no more than `epsilon` for a `delta`, to six digits and rounded up.
/// Infinite where the accountant finds no finite one, as may be for a `delta` below 1e-150.
///
/// # Errors
/// `epsilon` must be above 0, `delta` above 0 and below 1, and `rate` from 0 to 1.
///
/// # Example
/// ```
/// use pergrad_transforms::privacy;
/// let sigma = privacy::noise_multiplier(2.0, 1e-5, 0.01, 1000).unwrap();
/// assert!(privacy::epsilon(sigma, 0.01, 1000, 1e-5).unwrap() <= 2.0);
/// ```
pub fn noise_multiplier(epsilon: f64, delta: f64, rate: f64, steps: u64) -> Result<f64, Error> {
    require(epsilon > 0.0, "epsilon", "a number above 0", epsilon)?;
    let spends = |sigma: f64| self::epsilon(sigma, rate, steps, delta);
    let (mut low, mut high) = (0.0, 1.0);
    if spends(low)? <= epsilon {
        return Ok(low);
    }
    // Divergences fall as sigma^-2, and below delta^2 nothing is spent; with infinite noise neither: this ends.
    while spends(high)? > epsilon {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-6 * high {
        let middle = 0.5 * (low + high);
        if spends(middle)? <= epsilon {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}
