//! One over each element.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "reciprocal",
    family: Family::Elementwise,
    summary: "1 / g",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(reciprocal())),
};

/// One over each element. Built by [`reciprocal()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Reciprocal;

/// Replaces each element `g` by `1 / g`, and 0 by 0, so that a coordinate without gradient stays without one.
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | 0  |  0 |
/// | infinite  |  0 |
/// | NaN  |  NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), reciprocal()))).is_ok());
/// ```
pub fn reciprocal() -> Reciprocal {
    Reciprocal
}

impl<In: Axis> Transform<In> for Reciprocal {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x.equal(0.0).select(0.0, 1.0 / &x)
    }
}
