//! A soft bound on each element.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "tanh",
    family: Family::Elementwise,
    summary: "tanh(g)",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(tanh())),
};

/// A soft bound on each element. Built by [`tanh()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Tanh;

/// Squashes each element of the gradient into (-1, 1) by the hyperbolic tangent.
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | 0  |  0 |
/// | infinite  |  1 or -1 |
/// | NaN  |  NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((tanh(), mean()))).is_ok());
/// ```
pub fn tanh() -> Tanh {
    Tanh
}

impl<In: Axis> Transform<In> for Tanh {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x.tanh()
    }
}
