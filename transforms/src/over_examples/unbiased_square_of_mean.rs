//! An unbiased estimate of the square of the expected gradient.

use crate::axis::{Aggregated, CanReduce};
use crate::program::Reduction;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "unbiased_square_of_mean",
    family: Family::OverExamples,
    summary: "mean(g)^2 - variance(ddof=1) / B",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(unbiased_square_of_mean())),
};

/// An unbiased estimate of the square of the expected gradient. Built by [`unbiased_square_of_mean()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct UnbiasedSquareOfMean;

/// Estimates the square of the expected gradient without bias: `mean(g)^2 - variance/B` with the unbiased variance, `[B, ..p] -> [..p]`. The plain square of the mean is too large by `variance/B` on average; this one can be negative.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B < 2 | an error that names the link: the variance has no value there |
/// | B copies of one example | the square of its gradient |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((unbiased_square_of_mean(), scale(-0.1)))).is_ok());
/// ```
pub fn unbiased_square_of_mean() -> UnbiasedSquareOfMean {
    UnbiasedSquareOfMean
}

impl<In: CanReduce> Transform<In> for UnbiasedSquareOfMean {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.to_reduce();
        let variance = x.reduce(Reduction::Variance { ddof: 1 });
        x.mean().square() - variance / cx.batch_size()
    }
}
