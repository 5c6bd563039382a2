//! A floor under each element.

use crate::axis::Axis;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "at_least",
    family: Family::Elementwise,
    summary: "max(g, bound)",
    reference: "",
    arguments: &[Argument::required("bound")],
    build: |args| Ok(Link::both(at_least(args.hyper("bound")?))),
};

/// A floor under each element. Built by [`at_least`].
#[derive(Clone, Debug)]
pub struct AtLeast {
    bound: Hyper,
}

/// Replaces the elements below `bound` by `bound`: `at_least(0.0)` clamps an estimate that noise has made negative. NaN
/// stays NaN.
///
/// # Errors
/// `bound` must be finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let root = chain((unbiased_square_of_mean(), ema(0.99), at_least(0.0), sqrt()));
/// assert!(program(&root).is_ok());
/// ```
pub fn at_least(bound: impl Into<Hyper>) -> AtLeast {
    AtLeast {
        bound: bound.into(),
    }
}

impl<In: Axis> Transform<In> for AtLeast {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        x.max(cx.hyper("bound", &self.bound, Domain::Finite))
    }
}
