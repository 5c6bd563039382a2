//! The smallest value over the examples.

use crate::axis::{Aggregated, CanReduce};
use crate::program::Reduction;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "min",
    family: Family::OverExamples,
    summary: "min_b g_b",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(min())),
};

/// The smallest value over the examples. Built by [`min()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Min;

/// Takes the smallest value of each element over the examples: `[B, ..p] -> [..p]`.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 0 | an error that names the link |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((min(), scale(-0.1)))).is_ok());
/// ```
pub fn min() -> Min {
    Min
}

impl<In: CanReduce> Transform<In> for Min {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce().reduce(Reduction::Min)
    }
}
