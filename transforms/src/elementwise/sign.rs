//! The sign of each element.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sign",
    family: Family::Elementwise,
    summary: "sign(g)",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(sign())),
};

/// The same under optax's name.
pub(crate) const SCALE_BY_SIGN: Entry = Entry {
    name: "scale_by_sign",
    build: |_| Ok(Link::both(scale_by_sign())),
    ..ENTRY
};

/// The sign of each element. Built by [`sign()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sign;

/// Replaces each element of the gradient by its sign: -1, 0 or 1.
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
/// assert!(program(&chain((sign(), mean()))).is_ok());
/// ```
pub fn sign() -> Sign {
    Sign
}

/// [`sign()`] under optax's name.
pub fn scale_by_sign() -> Sign {
    sign()
}

impl<In: Axis> Transform<In> for Sign {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x.sign()
    }
}
