//! The square root of each element.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sqrt",
    family: Family::Elementwise,
    summary: "sqrt(g)",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(sqrt())),
};

/// The square root of each element. Built by [`sqrt()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sqrt;

/// Takes the square root of each element. Clip from below first where values may be negative.
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | 0  |  0 |
/// | negative  |  NaN |
/// | NaN  |  NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((square(), mean(), sqrt()))).is_ok());
/// ```
pub fn sqrt() -> Sqrt {
    Sqrt
}

impl<In: Axis> Transform<In> for Sqrt {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x.sqrt()
    }
}
