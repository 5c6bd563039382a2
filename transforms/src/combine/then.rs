//! Two links after each other, in reading order.

use std::borrow::Cow;

use super::Named;
use crate::axis::Axis;
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// `first`, then `second`. Built by [`Compose::then`].
#[derive(Clone, Debug)]
pub struct Then<First, Second> {
    first: First,
    second: Second,
}

impl<In, First, Second> Transform<In> for Then<First, Second>
where
    In: Axis,
    First: Transform<In>,
    Second: Transform<First::Out>,
{
    type Out = Second::Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Self::Out> {
        let x = cx.apply(&self.first, x);
        cx.apply(&self.second, x)
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}

/// `then` and `named` for every link.
pub trait Compose: Sized {
    /// This link, then `next`: `sign().then(mean()).then(ema(0.9))`.
    fn then<Next>(self, next: Next) -> Then<Self, Next> {
        Then {
            first: self,
            second: next,
        }
    }

    /// The same link under a name of one's own, in errors, hyper-parameters and state.
    fn named(self, name: impl Into<String>) -> Named<Self> {
        Named::new(self, name.into())
    }
}

impl<T> Compose for T {}
