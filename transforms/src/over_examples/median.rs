//! The middle value over the examples.

use crate::axis::{Aggregated, CanReduce};
use crate::program::Reduction;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "median",
    family: Family::OverExamples,
    summary: "median_b g_b",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(median())),
};

/// The middle value over the examples. Built by [`median()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Median;

/// Takes the median of each element over the examples: `[B, ..p] -> [..p]`. Robust against bad examples up to half of the batch.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | B even | the mean of the two middle values |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((median(), scale(-0.1)))).is_ok());
/// ```
pub fn median() -> Median {
    Median
}

impl<In: CanReduce> Transform<In> for Median {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce().reduce(Reduction::Median)
    }
}
