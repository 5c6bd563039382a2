//! Reductions over the examples: `[B, ..p] -> [..p]`. A chain has one on each path from gradients to updates.
//!
//! NaN in one example makes the result NaN at that element, whichever reduction it is; and in every element for those that weigh
//! whole examples: [`geometric_median`],
//! [`least_harm`], [`project_conflicts`] and [`upgrad`].

pub(crate) mod accelerated;
mod batch_mean;
mod differentially_private_adaptive_aggregate;
mod differentially_private_aggregate;
mod geometric_median;
mod least_harm;
mod majority;
mod max;
mod mean;
mod median;
mod min;
mod project_conflicts;
mod sum;
mod trimmed_mean;
mod unbiased_square_of_mean;
mod upgrad;
mod variance;

pub use batch_mean::{BatchMean, batch_mean};
pub use differentially_private_adaptive_aggregate::{
    DifferentiallyPrivateAdaptiveAggregate, differentially_private_adaptive_aggregate,
};
pub use differentially_private_aggregate::{
    DifferentiallyPrivateAggregate, differentially_private_aggregate,
};
pub use geometric_median::{GeometricMedian, geometric_median};
pub use least_harm::{LeastHarm, least_harm};
pub use majority::{Majority, majority};
pub use max::{Max, max};
pub use mean::{Mean, mean};
pub use median::{Median, median};
pub use min::{Min, min};
pub use project_conflicts::{ProjectConflicts, project_conflicts};
pub use sum::{Sum, sum};
pub use trimmed_mean::{TrimmedMean, trimmed_mean};
pub use unbiased_square_of_mean::{UnbiasedSquareOfMean, unbiased_square_of_mean};
pub use upgrad::{Upgrad, upgrad};
pub use variance::{Variance, variance};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    batch_mean::ENTRY,
    differentially_private_adaptive_aggregate::ENTRY,
    differentially_private_aggregate::ENTRY,
    geometric_median::ENTRY,
    least_harm::ENTRY,
    majority::ENTRY,
    max::ENTRY,
    mean::ENTRY,
    median::ENTRY,
    min::ENTRY,
    project_conflicts::ENTRY,
    sum::ENTRY,
    trimmed_mean::ENTRY,
    unbiased_square_of_mean::ENTRY,
    upgrad::ENTRY,
    variance::ENTRY,
];
