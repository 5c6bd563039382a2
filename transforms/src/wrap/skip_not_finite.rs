//! Steps that are skipped while the gradients are not finite.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "skip_not_finite",
    family: Family::Wrapper,
    summary: "the links if g is finite, else 0 and no step",
    reference: "",
    arguments: &[Argument::required("links")],
    build: |args| {
        let links = args.aggregated_links("links")?;
        Ok(Link::aggregated(skip_not_finite(links)))
    },
};

/// Steps that are skipped while the gradients are not finite. Built by [`skip_not_finite`].
#[derive(Clone, Debug)]
pub struct SkipNotFinite<T> {
    inner: T,
}

/// Applies `inner` if every element of the gradient is finite. Else the updates are zero and `inner` takes no step, however often
/// that happens; the metric `skip_not_finite.skipped` is then 1.
///
/// To skip micro-batches, see [`Accumulate::skip_not_finite`](crate::Accumulate::skip_not_finite).
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), skip_not_finite(adam(1e-3))))).is_ok());
/// ```
pub fn skip_not_finite<T>(inner: T) -> SkipNotFinite<T> {
    SkipNotFinite { inner }
}

impl<In, T> Transform<In> for SkipNotFinite<T>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let finite = x.all_finite();
        cx.emit("skipped", &finite.negate().as_number());
        let inner = cx.guarded(&finite, |cx| cx.apply(&self.inner, x));
        inner.keep_where(&finite, 0.0).as_input()
    }
}
