//! A batch size that changes along a straight line in the tokens seen.

use serde::{Deserialize, Serialize};

use super::at_least_one;
use crate::error::Error;

/// A number of micro-batches that changes along a straight line. Built by [`linear_in_tokens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawLinearInTokens")]
pub struct LinearInTokens {
    from: usize,
    to: usize,
    over_tokens: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLinearInTokens {
    from: usize,
    to: usize,
    over_tokens: u64,
}

impl TryFrom<RawLinearInTokens> for LinearInTokens {
    type Error = Error;

    fn try_from(raw: RawLinearInTokens) -> Result<Self, Error> {
        linear_in_tokens(raw.from, raw.to, raw.over_tokens)
    }
}

/// Goes from `from` micro-batches to `to`, along a straight line over `over_tokens` tokens, and stays there.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | no tokens seen | `from` |
/// | between two whole numbers | the nearest, a half away from 0 |
/// | `over_tokens` seen, or more | `to` |
/// | `over_tokens` 0 | `to` from the beginning |
/// | `to` below `from` | it falls |
///
/// # Errors
/// `from` and `to` must be at least 1.
///
/// # Example
/// ```
/// use pergrad_transforms::batch_size::linear_in_tokens;
/// let schedule = linear_in_tokens(2, 15, 1300).unwrap();
/// assert_eq!([0, 100, 650, 9999].map(|t| schedule.micro_batches(t)), [2, 3, 9, 15]);
/// assert!(linear_in_tokens(0, 15, 1300).is_err());
/// ```
///
/// # Reference
/// Gray, Tiwari, Bergsma, Hestness, 2024, arXiv 2411.00999, from 2 to 15.
pub fn linear_in_tokens(from: usize, to: usize, over_tokens: u64) -> Result<LinearInTokens, Error> {
    at_least_one("linear_in_tokens.from", from)?;
    at_least_one("linear_in_tokens.to", to)?;
    Ok(LinearInTokens {
        from,
        to,
        over_tokens,
    })
}

impl LinearInTokens {
    /// How many micro-batches make the next step when this many tokens have been seen.
    #[allow(clippy::cast_precision_loss)] // tokens and counts below 2^53
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between two counts
    pub fn micro_batches(&self, tokens_seen: u64) -> usize {
        if tokens_seen >= self.over_tokens {
            return self.to;
        }
        let done = tokens_seen as f64 / self.over_tokens as f64;
        let (from, to) = (self.from as f64, self.to as f64);
        (from + (to - from) * done).round() as usize
    }
}
