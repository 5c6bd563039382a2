//! A bound on each element.

use crate::axis::Axis;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "clip",
    family: Family::Elementwise,
    summary: "min(max(g, -max_delta), max_delta)",
    reference: "",
    arguments: &[Argument::required("max_delta")],
    build: |args| Ok(Link::both(clip(args.hyper("max_delta")?))),
};

/// A bound on each element. Built by [`clip`].
#[derive(Clone, Debug)]
pub struct Clip {
    max_delta: Hyper,
}

/// Clips each element of the gradient to `[-max_delta, max_delta]`. For a bound on the norm see
/// [`clip_per_example`](crate::clip_per_example) and [`clip_by_global_norm`](crate::clip_by_global_norm).
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | infinite | the bound |
/// | NaN | NaN |
///
/// # Errors
/// `max_delta` must not be negative; infinity clips nothing.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((clip(1.0), mean()))).is_ok());
/// assert!(program(&chain((clip(-1.0), mean()))).is_err());
/// ```
pub fn clip(max_delta: impl Into<Hyper>) -> Clip {
    Clip {
        max_delta: max_delta.into(),
    }
}

impl<In: Axis> Transform<In> for Clip {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let bound = cx.hyper("max_delta", &self.max_delta, Domain::Bound);
        x.max(-&bound).min(bound)
    }
}
