//! The absolute value of each element.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "abs",
    family: Family::Elementwise,
    summary: "|g|",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(abs())),
};

/// The absolute value of each element. Built by [`abs()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Abs;

/// Takes the absolute value of each element of the gradient.
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | 0, -0  |  0 |
/// | NaN  |  NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((abs(), mean()))).is_ok());
/// ```
pub fn abs() -> Abs {
    Abs
}

impl<In: Axis> Transform<In> for Abs {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x.abs()
    }
}
