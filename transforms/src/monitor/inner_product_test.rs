//! The inner product test: whether the batch is large enough for the direction of the mean gradient.

use crate::axis::{ExamplesApart, PerExample};
use crate::program::Reduction;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "inner_product_test",
    family: Family::Monitor,
    summary: "inner_product_test.theta = sqrt(Var(g_b . mean g) / B) / ||mean g||^2",
    reference: "Bollapragada et al., 2018, arXiv 1710.11258",
    arguments: &[],
    build: |_| Ok(Link::per_example(inner_product_test())),
};

/// The inner product test. Built by [`inner_product_test`].
#[derive(Clone, Copy, Debug, Default)]
pub struct InnerProductTest;

/// Passes the gradients on, and measures the noise along the mean gradient:
/// `inner_product_test.theta = sqrt(Var(g_b . mean g) / B) / ||mean g||^2`, with the unbiased variance over the examples.
///
/// The batch passes the test for a bound such as 0.9 if `theta` is at most the bound: then the mean is likely a direction of descent.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B < 2 | an error that names the link |
/// | all examples alike, or each with the mean plus something at a right angle to it | 0, but for rounding |
/// | a mean of zeros | 0: there is no direction to be noisy along |
/// | a NaN or an infinity in one example | NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((monitor::inner_product_test(), mean()))).is_ok());
/// ```
///
/// # Reference
/// Bollapragada, Byrd, Nocedal, 2018, arXiv 1710.11258, in the form for practice: with the mean in place of the gradient.
pub fn inner_product_test() -> InnerProductTest {
    InnerProductTest
}

impl<In: ExamplesApart> Transform<In> for InnerProductTest {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let mean = x.mean();
        let variance = x.dot(&mean).reduce(Reduction::Variance { ddof: 1 });
        let deviation = (variance / cx.batch_size()).sqrt();
        cx.emit("theta", &deviation.div_or_zero(mean.sq_norm()));
        x
    }
}
