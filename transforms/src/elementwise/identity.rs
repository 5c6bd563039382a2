//! The gradients as they are.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "identity",
    family: Family::Elementwise,
    summary: "g",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(identity())),
};

/// The gradients as they are. Built by [`identity()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

/// Leaves the gradients as they are. Useful as a branch of a combinator.
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | anything  |  itself |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((identity(), mean()))).is_ok());
/// ```
pub fn identity() -> Identity {
    Identity
}

impl<In: Axis> Transform<In> for Identity {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x
    }
}
