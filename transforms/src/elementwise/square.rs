//! The square of each element.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "square",
    family: Family::Elementwise,
    summary: "g * g",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(square())),
};

/// The square of each element. Built by [`square()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Square;

/// Squares each element of the gradient. Units: those of the gradient, squared.
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | 0  |  0 |
/// | larger than 1.8e19 in f32  |  infinite |
/// | NaN  |  NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((square(), mean()))).is_ok()); // not the same as chain((mean(), square()))
/// ```
pub fn square() -> Square {
    Square
}

impl<In: Axis> Transform<In> for Square {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x.square()
    }
}
