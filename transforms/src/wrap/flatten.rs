//! All leaves as one.

use crate::axis::{Aggregated, Axis, PerExample};
use crate::spec::{Argument, DynLinks, Entry, Family, Link, ORDERED};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "flatten",
    family: Family::Wrapper,
    summary: "the links, to which all leaves are one",
    reference: "",
    arguments: &[Argument::required("links")],
    build: |args| {
        let chain = args.links("links")?;
        let apart = DynLinks::<PerExample, PerExample>::new(&chain);
        let reducing = DynLinks::<PerExample, Aggregated>::new(&chain);
        let reduced = DynLinks::<Aggregated, Aggregated>::new(&chain).map(flatten);
        match (apart, reducing, &reduced) {
            (None, None, None) => Err(args.unfit("links", ORDERED)),
            (Some(inner), _, _) => Ok(Link::either(Some(flatten(inner)), reduced)),
            (None, reducing, _) => Ok(Link::either(reducing.map(flatten), reduced)),
        }
    },
};

/// All leaves as one. Built by [`flatten`].
#[derive(Clone, Debug)]
pub struct Flatten<T> {
    inner: T,
}

/// Applies `inner` as if all leaves were one: what it does for each leaf, such as clipping to a norm, it does for the whole.
///
/// Links that work element by element, or over all leaves anyway, are the same inside and outside. Nothing is copied.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// // The same as `normalize_per_example()`.
/// let whole = flatten(normalize_per_example().per_leaf());
/// assert!(program(&chain((whole, mean()))).is_ok());
/// ```
pub fn flatten<T>(inner: T) -> Flatten<T> {
    Flatten { inner }
}

impl<In: Axis, T: Transform<In>> Transform<In> for Flatten<T> {
    type Out = T::Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<T::Out> {
        cx.flattened(|cx| cx.apply(&self.inner, x))
    }

    fn name(&self) -> Option<std::borrow::Cow<'static, str>> {
        None
    }
}
