//! Links that act while a condition holds; else there are zeros.

use crate::axis::{Aggregated, Axis, PerExample};
use crate::spec::{Argument, DynLinks, Entry, Family, Link, ORDERED};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;
use crate::wrap::condition::{Condition, EXPECTED, StepCondition};

pub(crate) const ENTRY: Entry = Entry {
    name: "conditionally_mask",
    family: Family::Wrapper,
    summary: "the links while the condition holds, else 0 and no step",
    reference: "",
    arguments: &[Argument::required("links"), Argument::required("condition")],
    build: |args| {
        let chain = args.links("links")?;
        let when: StepCondition = args.required_data("condition", EXPECTED)?;
        let apart = DynLinks::<PerExample, PerExample>::new(&chain);
        let reducing = DynLinks::<PerExample, Aggregated>::new(&chain);
        let reduced = DynLinks::<Aggregated, Aggregated>::new(&chain);
        let reduced = reduced.map(|inner| conditionally_mask(inner, when));
        match (apart, reducing, &reduced) {
            (None, None, None) => Err(args.unfit("links", ORDERED)),
            (Some(inner), _, _) => Ok(Link::either(Some(conditionally_mask(inner, when)), reduced)),
            (None, reducing, _) => {
                let reducing = reducing.map(|inner| conditionally_mask(inner, when));
                Ok(Link::either(reducing, reduced))
            }
        }
    },
};

/// Links that act while a condition holds. Built by [`conditionally_mask`].
#[derive(Clone, Debug)]
pub struct ConditionallyMask<T, C = StepCondition> {
    inner: T,
    condition: C,
}

/// Applies `inner` while a condition holds. Else the updates are **zero**, and `inner` takes no step.
///
/// [`conditionally_transform`](crate::conditionally_transform()) passes the gradients on instead.
///
/// The condition is [`step_lt`](crate::step_lt), [`step_ge`](crate::step_ge), [`step_multiple_of`](crate::step_multiple_of), or a
/// function from the [`Tracer`] to a predicate.
///
/// # State
/// `conditionally_mask.steps` counts the steps of `inner`, if something in it asks for them.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// // A step for every second batch; the others are thrown away.
/// let chain = chain((mean(), conditionally_mask(adam(1e-3), step_multiple_of(2))));
/// assert!(program(&chain).is_ok());
/// ```
pub fn conditionally_mask<T, C: Condition>(inner: T, condition: C) -> ConditionallyMask<T, C> {
    ConditionallyMask { inner, condition }
}

impl<In: Axis, T: Transform<In>, C: Condition> Transform<In> for ConditionallyMask<T, C> {
    type Out = T::Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<T::Out> {
        let holds = self.condition.holds(cx);
        let inner = cx.guarded(&holds, |cx| cx.apply(&self.inner, x));
        inner.keep_where(&holds, 0.0)
    }
}
