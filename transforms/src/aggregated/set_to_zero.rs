//! No update.

use crate::axis::Axis;
use crate::leaves::Leaves;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "set_to_zero",
    family: Family::Aggregated,
    summary: "0",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(set_to_zero())),
};

/// No update. Built by [`set_to_zero`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SetToZero;

/// Gives zeros for every gradient: the parameters stay as they are. A part of a [`partition`](crate::partition()) that is not
/// trained.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | NaN or infinite | 0 |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let head_only = partition(((Leaves::matching("head.*"), adam(1e-3)), (Leaves::All, mean().then(set_to_zero()))));
/// assert!(optimizer_program(&head_only).is_ok());
/// ```
pub fn set_to_zero() -> SetToZero {
    SetToZero
}

impl<In: Axis> Transform<In> for SetToZero {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        x.keep_where(&cx.selected(&Leaves::none()), 0.0)
    }
}
