//! The largest value over the examples.

use crate::axis::{Aggregated, CanReduce};
use crate::program::Reduction;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "max",
    family: Family::OverExamples,
    summary: "max_b g_b",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(max())),
};

/// The largest value over the examples. Built by [`max()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Max;

/// Takes the largest value of each element over the examples: `[B, ..p] -> [..p]`.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 0 | an error that names the link |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((max(), scale(-0.1)))).is_ok());
/// ```
pub fn max() -> Max {
    Max
}

impl<In: CanReduce> Transform<In> for Max {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce().reduce(Reduction::Max)
    }
}
