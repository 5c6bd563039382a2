//! Links for some leaves only.

use std::borrow::Cow;

use crate::axis::{Aggregated, Axis, PerExample};
use crate::leaves::Leaves;
use crate::spec::{Argument, DynLinks, Entry, Family, KEEPING, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "masked",
    family: Family::Wrapper,
    summary: "the links in the selected leaves, g in the others",
    reference: "",
    arguments: &[Argument::required("links"), Argument::required("leaves")],
    build: |args| {
        let chain = args.links("links")?;
        let leaves = args.required_leaves("leaves")?;
        let per_example = DynLinks::<PerExample, PerExample>::new(&chain);
        let aggregated = DynLinks::<Aggregated, Aggregated>::new(&chain);
        if per_example.is_none() && aggregated.is_none() {
            return Err(args.unfit("links", KEEPING));
        }
        Ok(Link::either(
            per_example.map(|inner| masked(inner, leaves.clone())),
            aggregated.map(|inner| masked(inner, leaves.clone())),
        ))
    },
};

/// Links for some leaves only. Built by [`masked`].
#[derive(Clone, Debug)]
pub struct Masked<T> {
    inner: T,
    leaves: Leaves,
}

/// Applies `inner` to the selected leaves. The others pass **unchanged** (not zeroed; [`selective_transform`](crate::selective_transform)
/// zeroes them).
///
/// `inner` sees the selected leaves only: a norm inside is over them, and it has no state for the others.
///
/// # Edge cases
/// | selection | result |
/// |--|--|
/// | all leaves | `inner` |
/// | no leaf | the gradients, unchanged; counters inside still count |
///
/// # Errors
/// A selection that does not fit the model, when the chain is bound to it.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let clip = masked(clip_by_global_norm(1.0), Leaves::matching("head.*"));
/// assert!(program(&chain((mean(), clip, scale(-0.1)))).is_ok());
/// ```
pub fn masked<T>(inner: T, leaves: Leaves) -> Masked<T> {
    Masked { inner, leaves }
}

impl<In: Axis, T: Transform<In, Out = In>> Transform<In> for Masked<T> {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let inside = x.clone();
        let inner = cx.within(&self.leaves, |cx| cx.apply(&self.inner, inside));
        match &self.leaves {
            Leaves::All => inner,
            leaves => cx.choose(leaves, &inner, &x),
        }
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}
