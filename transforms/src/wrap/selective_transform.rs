//! Links for the leaves that are trained, zeros in the others.

use crate::axis::{Aggregated, Axis, PerExample};
use crate::leaves::Leaves;
use crate::spec::{Argument, DynLinks, Entry, Family, Link, ORDERED};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "selective_transform",
    family: Family::Wrapper,
    summary: "0 in the frozen leaves, the links in the others",
    reference: "",
    arguments: &[
        Argument::required("links"),
        Argument::required("freeze_mask"),
    ],
    build: |args| {
        let chain = args.links("links")?;
        let frozen = args.required_leaves("freeze_mask")?;
        let apart = DynLinks::<PerExample, PerExample>::new(&chain);
        let reducing = DynLinks::<PerExample, Aggregated>::new(&chain);
        let reduced = DynLinks::<Aggregated, Aggregated>::new(&chain);
        let reduced = reduced.map(|inner| selective_transform(inner, frozen.clone()));
        match (apart, reducing, &reduced) {
            (None, None, None) => Err(args.unfit("links", ORDERED)),
            (Some(inner), _, _) => {
                let apart = Some(selective_transform(inner, frozen));
                Ok(Link::either(apart, reduced))
            }
            (None, reducing, _) => {
                let reducing = reducing.map(|inner| selective_transform(inner, frozen));
                Ok(Link::either(reducing, reduced))
            }
        }
    },
};

/// Links for the leaves that are trained, zeros in the others. Built by [`selective_transform`].
#[derive(Clone, Debug)]
pub struct SelectiveTransform<T> {
    inner: T,
    frozen: Leaves,
}

/// Applies `inner` to all but the frozen leaves, whose updates are **zero**.
///
/// Like [`masked`](crate::masked()), `inner` sees the leaves that it works on only, and has no state for the others.
///
/// # Errors
/// A selection that does not fit the model, when the chain is bound to it.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let fine_tuning = selective_transform(adam(1e-3), Leaves::matching("head.*").negate());
/// assert!(optimizer_program(&fine_tuning).is_ok());
/// ```
pub fn selective_transform<T>(inner: T, frozen: Leaves) -> SelectiveTransform<T> {
    SelectiveTransform { inner, frozen }
}

impl<In: Axis, T: Transform<In>> Transform<In> for SelectiveTransform<T> {
    type Out = T::Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<T::Out> {
        let trained = self.frozen.clone().negate();
        let inner = cx.within(&trained, |cx| cx.apply(&self.inner, x));
        inner.keep_where(&cx.selected(&trained), 0.0)
    }
}
