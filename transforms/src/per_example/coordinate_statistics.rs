//! The mean and the variance of each coordinate over the examples, as metrics.

use crate::axis::{ExamplesApart, PerExample};
use crate::program::Reduction;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "coordinate_statistics",
    family: Family::PerExample,
    summary: "g_b, and as metrics mean g and sum_b (g_b - mean g)^2 / (B - 1)",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(coordinate_statistics())),
};

/// The mean and the variance of each coordinate over the examples, as metrics. Built by [`coordinate_statistics`].
#[derive(Clone, Copy, Debug, Default)]
pub struct CoordinateStatistics;

/// Passes the gradients on unchanged, `[B, ..p] -> [B, ..p]`, and gives out two numbers for each element: the metrics
/// `coordinate_statistics.mean` and `coordinate_statistics.variance`, the unbiased one, `[P]`, the elements of all leaves after each
/// other.
///
/// They are what [`predict_placement`](crate::placement::predict_placement) reads. The variance is computed from the deviations.
/// Both are of the gradients as they are where the link stands: before a clip or after it.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B < 2 | an error that names the link: there is no unbiased variance |
/// | a NaN in one example | NaN in both metrics at that element |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let measured = chain((coordinate_statistics(), adam(1e-3)));
/// assert!(optimizer_program(&measured).is_ok());
/// ```
pub fn coordinate_statistics() -> CoordinateStatistics {
    CoordinateStatistics
}

impl<In: ExamplesApart> Transform<In> for CoordinateStatistics {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        cx.emit("mean", &x.mean());
        cx.emit("variance", &x.reduce(Reduction::Variance { ddof: 1 }));
        x
    }
}
