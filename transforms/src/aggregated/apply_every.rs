//! The sum of some updates, given out once.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "apply_every",
    family: Family::Aggregated,
    summary: "at every k-th step the sum of the last k g, else 0",
    reference: "",
    arguments: &[Argument::optional("k", "1")],
    build: |args| {
        let k = args.optional_hyper("k")?.unwrap_or(1.0.into());
        Ok(Link::aggregated(apply_every(k)))
    },
};

/// The sum of some updates, given out once. Built by [`apply_every`].
#[derive(Clone, Debug)]
pub struct ApplyEvery {
    k: Hyper,
}

/// Adds up the updates of `k` steps and gives out the sum at the last of them, zeros before.
///
/// What stands before it acts at every step, unlike the links inside [`accumulate`](crate::accumulate()).
///
/// # State
/// `apply_every.sum`, in the shape of the parameters; `apply_every.count`.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `k` 1 | the updates |
/// | a NaN | in that element of the next sum only, not in the zeros before it or in later sums |
///
/// # Errors
/// `k` must be a whole number of at least 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_adam(), apply_every(4), scale(-1e-3)))).is_ok());
/// ```
pub fn apply_every(k: impl Into<Hyper>) -> ApplyEvery {
    ApplyEvery { k: k.into() }
}

impl<In: ExamplesReduced> Transform<In> for ApplyEvery {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x: Value<Aggregated> = x.reduced();
        let k = cx.hyper("k", &self.k, Domain::Count);
        let count = cx.slot::<Global>("count", 0.0);
        let next = count.before() + 1.0;
        let emit = next.ge(k);
        cx.set(count, &emit.select(0.0, next));
        let sum = cx.slot::<Leaf>("sum", 0.0);
        let total = sum.before() + x;
        cx.set(sum, &emit.select(0.0, &total));
        total.keep_where(&emit, 0.0).as_input()
    }
}
