//! The direction of the gradient.

use crate::axis::ExamplesReduced;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "normalize",
    family: Family::Aggregated,
    summary: "g / ||g||",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::aggregated(normalize())),
};

/// The direction of the gradient. Built by [`normalize`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Normalize;

/// Divides the gradient by its Euclidean norm over all leaves.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | all zeros | zeros, where optax has NaN |
/// | with a NaN | NaN in every element: it shows |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), normalize()))).is_ok());
/// ```
pub fn normalize() -> Normalize {
    Normalize
}

impl<In: ExamplesReduced> Transform<In> for Normalize {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        x.div_or_zero(x.norm()).as_input()
    }
}
