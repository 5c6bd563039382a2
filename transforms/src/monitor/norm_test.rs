//! The norm test: whether the batch is large enough for the length of the mean gradient.

use super::spread::trace_by_norms;
use crate::axis::{ExamplesApart, PerExample};
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "norm_test",
    family: Family::Monitor,
    summary: "norm_test.theta = sqrt(trace Cov(g) / (B * ||mean g||^2))",
    reference: "Byrd et al., 2012",
    arguments: &[],
    build: |_| Ok(Link::per_example(norm_test())),
};

/// The norm test. Built by [`norm_test`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NormTest;

/// Passes the gradients on, and measures the standard deviation of the mean gradient relative to its length:
/// `norm_test.theta = sqrt(trace Cov(g) / (B ||mean g||^2))`, with the unbiased covariance of the examples.
///
/// The batch passes the test for a bound such as 0.9 if `theta` is at most the bound; else a batch that is `(theta / bound)^2` times
/// as large would pass. The square is the sum of those of [`inner_product_test`](super::inner_product_test()), which looks along
/// the mean, and [`orthogonality_test`](super::orthogonality_test()), which looks across it.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B < 2 | an error that names the link |
/// | all examples alike | 0, but for rounding |
/// | all gradients zeros | 0 |
/// | a mean of zeros, of examples that are not | infinite |
/// | a NaN or an infinity in one example | NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((monitor::norm_test(), mean()))).is_ok());
/// ```
///
/// # Reference
/// Byrd, Chin, Nocedal, Wu, 2012, "Sample size selection in optimization methods for machine learning"; as in Bollapragada, Byrd,
/// Nocedal, 2018, arXiv 1710.11258.
pub fn norm_test() -> NormTest {
    NormTest
}

impl<In: ExamplesApart> Transform<In> for NormTest {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let sq_norm = x.mean().sq_norm();
        let trace = trace_by_norms(&x.norm(), &sq_norm, 1, cx).max(0.0);
        let bound = cx.batch_size() * sq_norm;
        cx.emit("theta", &trace.div_or_zero(bound).sqrt());
        x
    }
}
