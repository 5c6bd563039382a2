//! The majority vote of the examples.

use crate::axis::{Aggregated, CanReduce};
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "majority",
    family: Family::OverExamples,
    summary: "sign(sum_b sign(g_b))",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(majority())),
};

/// The majority vote of the examples. Built by [`majority()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Majority;

/// Lets the examples vote on the sign of each element: `sign(sum_b sign(g_b))`, `[B, ..p] -> [..p]`.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 0 | zeros: nobody votes |
/// | a tie | 0 |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((majority(), scale(-0.1)))).is_ok());
/// ```
pub fn majority() -> Majority {
    Majority
}

impl<In: CanReduce> Transform<In> for Majority {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce().sign().sum().sign()
    }
}
