//! The orthogonality test: whether the batch is large enough against what points across the mean gradient.

use super::spread::trace_by_norms;
use crate::axis::{ExamplesApart, PerExample};
use crate::program::Reduction;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "orthogonality_test",
    family: Family::Monitor,
    summary: "orthogonality_test.nu = sqrt(sum_b ||g_b across mean g||^2 / ((B - 1) * B)) / ||mean g||",
    reference: "Bollapragada et al., 2018, arXiv 1710.11258",
    arguments: &[],
    build: |_| Ok(Link::per_example(orthogonality_test())),
};

/// The orthogonality test. Built by [`orthogonality_test`].
#[derive(Clone, Copy, Debug, Default)]
pub struct OrthogonalityTest;

/// Passes the gradients on, and measures the noise at a right angle to the mean gradient `m`:
/// `orthogonality_test.nu = sqrt(sum_b ||g_b - (g_b . m) / ||m||^2 m||^2 / ((B - 1) B)) / ||m||`.
///
/// The batch passes the test for a bound such as 6 if `nu` is at most the bound. The sum is the part of the trace of the
/// covariance that [`inner_product_test`](super::inner_product_test()) does not see, `trace - Var(g_b . m) / ||m||^2`, and computed
/// so: no vector of each example is formed.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B < 2 | an error that names the link |
/// | all examples along one line | 0, but for rounding |
/// | all gradients zeros | 0 |
/// | a mean of zeros, of examples that are not | infinite |
/// | a NaN or an infinity in one example | NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((monitor::orthogonality_test(), mean()))).is_ok());
/// ```
///
/// # Reference
/// Bollapragada, Byrd, Nocedal, 2018, arXiv 1710.11258, in the form for practice: with the mean in place of the gradient.
pub fn orthogonality_test() -> OrthogonalityTest {
    OrthogonalityTest
}

impl<In: ExamplesApart> Transform<In> for OrthogonalityTest {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let mean = x.mean();
        let sq_norm = mean.sq_norm();
        let along = x.dot(&mean).reduce(Reduction::Variance { ddof: 1 });
        let trace = trace_by_norms(&x.norm(), &sq_norm, 1, cx);
        let across = (trace - along.div_or_zero(&sq_norm)).max(0.0);
        let bound = cx.batch_size() * sq_norm;
        cx.emit("nu", &across.div_or_zero(bound).sqrt());
        x
    }
}
