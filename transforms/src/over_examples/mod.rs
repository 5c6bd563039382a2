//! Reductions over the examples: `[B, ..p] -> [..p]`. A chain has one on each path from gradients to updates.
//!
//! NaN in one example makes the result NaN at that element, whichever reduction it is.

mod batch_mean;
mod majority;
mod max;
mod mean;
mod median;
mod min;
mod sum;
mod trimmed_mean;
mod unbiased_square_of_mean;
mod variance;

pub use batch_mean::{BatchMean, batch_mean};
pub use majority::{Majority, majority};
pub use max::{Max, max};
pub use mean::{Mean, mean};
pub use median::{Median, median};
pub use min::{Min, min};
pub use sum::{Sum, sum};
pub use trimmed_mean::{TrimmedMean, trimmed_mean};
pub use unbiased_square_of_mean::{UnbiasedSquareOfMean, unbiased_square_of_mean};
pub use variance::{Variance, variance};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    batch_mean::ENTRY,
    majority::ENTRY,
    max::ENTRY,
    mean::ENTRY,
    median::ENTRY,
    min::ENTRY,
    sum::ENTRY,
    trimmed_mean::ENTRY,
    unbiased_square_of_mean::ENTRY,
    variance::ENTRY,
];
