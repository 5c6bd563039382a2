//! Steps that are skipped while the gradients are too large.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "skip_large_updates",
    family: Family::Wrapper,
    summary: "the links if ||g||^2 < max_squared_norm, else 0 and no step",
    reference: "",
    arguments: &[
        Argument::required("links"),
        Argument::required("max_squared_norm"),
    ],
    build: |args| {
        Ok(Link::aggregated(skip_large_updates(
            args.aggregated_links("links")?,
            args.hyper("max_squared_norm")?,
        )))
    },
};

/// Steps that are skipped while the gradients are too large. Built by [`skip_large_updates`].
#[derive(Clone, Debug)]
pub struct SkipLargeUpdates<T> {
    inner: T,
    max_squared_norm: Hyper,
}

/// Applies `inner` if the squared norm of the gradient over all leaves is below `max_squared_norm`. Else the updates are zero and
/// `inner` takes no step; the metric `skip_large_updates.skipped` is then 1.
///
/// # Edge cases
/// | squared norm | result |
/// |--|--|
/// | equal to the bound | skipped |
/// | NaN | skipped |
/// | infinite | skipped, for an infinite bound too |
///
/// # Errors
/// `max_squared_norm` must not be negative or NaN.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), skip_large_updates(adam(1e-3), 100.0)))).is_ok());
/// ```
pub fn skip_large_updates<T>(inner: T, max_squared_norm: impl Into<Hyper>) -> SkipLargeUpdates<T> {
    SkipLargeUpdates {
        inner,
        max_squared_norm: max_squared_norm.into(),
    }
}

impl<In, T> Transform<In> for SkipLargeUpdates<T>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let bound = cx.hyper("max_squared_norm", &self.max_squared_norm, Domain::Bound);
        let small = x.sq_norm().lt(bound);
        cx.emit("skipped", &small.negate().as_number());
        let inner = cx.guarded(&small, |cx| cx.apply(&self.inner, x));
        inner.keep_where(&small, 0.0).as_input()
    }
}
