//! The sum over the examples.

use crate::axis::{Aggregated, CanReduce};
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sum",
    family: Family::OverExamples,
    summary: "sum_b g_b",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(sum())),
};

/// The sum over the examples. Built by [`sum()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;

/// Adds up the examples: `[B, ..p] -> [..p]`, the gradient of the summed loss. f16 and bf16 accumulate in f32.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 0 | zeros |
/// | B = 1 | the gradient of the one example |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((sum(), scale(-0.1)))).is_ok());
/// ```
pub fn sum() -> Sum {
    Sum
}

impl<In: CanReduce> Transform<In> for Sum {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce().sum()
    }
}
