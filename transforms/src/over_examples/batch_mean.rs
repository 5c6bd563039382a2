//! The mean over the examples, if they are still apart.

use crate::axis::{Aggregated, Axis, AxisKind};
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "batch_mean",
    family: Family::OverExamples,
    summary: "mean_b g_b; g if it is already aggregated",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(batch_mean())),
};

/// The mean over the examples, if they are still apart. Built by [`batch_mean`].
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchMean;

/// Averages over the examples where they are still apart, and leaves aggregated gradients as they are.
///
/// Optimizers such as [`adam`](crate::adam) begin with it: `adam(1e-3)` is a whole optimizer for per-example gradients,
/// and `chain((clip_per_example(1.0), sum(), adam(1e-3)))` has its own reduction. Use [`mean`](crate::mean) in your own
/// chains, so that a second reduction does not compile.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 0 | an error that names the link |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let once = program(&chain((mean(), batch_mean()))).unwrap();
/// assert_eq!(once, program(&mean()).unwrap());
/// ```
pub fn batch_mean() -> BatchMean {
    BatchMean
}

impl<In: Axis> Transform<In> for BatchMean {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        match cx.kind_of(&x) {
            AxisKind::PerExample => x.assume_per_example().mean(),
            AxisKind::Aggregated => x.assume_aggregated(),
        }
    }
}
