//! The mean over the examples.

use crate::axis::{Aggregated, CanReduce};
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "mean",
    family: Family::OverExamples,
    summary: "mean_b g_b",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(mean())),
};

/// The mean over the examples. Built by [`mean()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean;

/// Averages over the examples: `[B, ..p] -> [..p]`, the gradient of the mean loss. f16 and bf16 accumulate in f32.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | B = 1 | the gradient of the one example |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale(-0.1)))).is_ok());
/// ```
pub fn mean() -> Mean {
    Mean
}

impl<In: CanReduce> Transform<In> for Mean {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce().mean()
    }
}
