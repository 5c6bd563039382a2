//! Links that act while a condition holds; else the gradients pass.

use crate::axis::{Aggregated, Axis, PerExample};
use crate::spec::{Argument, DynLinks, Entry, Family, KEEPING, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;
use crate::wrap::condition::{Condition, EXPECTED, StepCondition};

pub(crate) const ENTRY: Entry = Entry {
    name: "conditionally_transform",
    family: Family::Wrapper,
    summary: "the links while the condition holds, else g and no step",
    reference: "",
    arguments: &[Argument::required("links"), Argument::required("condition")],
    build: |args| {
        let chain = args.links("links")?;
        let when: StepCondition = args.required_data("condition", EXPECTED)?;
        let apart = DynLinks::<PerExample, PerExample>::new(&chain);
        let reduced = DynLinks::<Aggregated, Aggregated>::new(&chain);
        if apart.is_none() && reduced.is_none() {
            return Err(args.unfit("links", KEEPING));
        }
        Ok(Link::either(
            apart.map(|inner| conditionally_transform(inner, when)),
            reduced.map(|inner| conditionally_transform(inner, when)),
        ))
    },
};

/// Links that act while a condition holds. Built by [`conditionally_transform`].
#[derive(Clone, Debug)]
pub struct ConditionallyTransform<T, C = StepCondition> {
    inner: T,
    condition: C,
}

/// Applies `inner` while a condition holds. Else the gradients pass **unchanged**, and `inner` takes no step.
///
/// [`conditionally_mask`](crate::conditionally_mask()) gives zeros instead.
///
/// The condition is [`step_lt`](crate::step_lt), [`step_ge`](crate::step_ge), [`step_multiple_of`](crate::step_multiple_of), or a
/// function from the [`Tracer`] to a predicate.
///
/// # State
/// `conditionally_transform.steps` counts the steps of `inner`, if something in it asks for them.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// // Momentum for the first 100 steps only.
/// let chain = chain((mean(), conditionally_transform(trace(0.9), step_lt(100)), scale(-0.1)));
/// assert!(program(&chain).is_ok());
/// ```
pub fn conditionally_transform<T, C: Condition>(
    inner: T,
    condition: C,
) -> ConditionallyTransform<T, C> {
    ConditionallyTransform { inner, condition }
}

impl<In: Axis, T: Transform<In, Out = In>, C: Condition> Transform<In>
    for ConditionallyTransform<T, C>
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let holds = self.condition.holds(cx);
        let inside = x.clone();
        let inner = cx.guarded(&holds, |cx| cx.apply(&self.inner, inside));
        holds.select_alike(&inner, &x)
    }
}
