//! A function of the gradients as a link.

use crate::axis::Axis;
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// A function of the gradients as a link. Built by [`stateless`].
#[derive(Clone)]
pub struct Stateless<F>(F);

impl<F> std::fmt::Debug for Stateless<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stateless")
    }
}

/// Makes a link of a function: it gets the gradients and the [`Tracer`], which has the parameters, and gives out what it likes.
///
/// # Example
/// A pull of the parameters towards 1.
/// ```
/// use pergrad_transforms::Aggregated;
/// use pergrad_transforms::prelude::*;
/// let pull = stateless(|x: Value<Aggregated>, cx: &mut Tracer| x + (cx.params() - 1.0) * 0.01);
/// assert!(program(&chain((mean(), pull, scale(-0.1)))).is_ok());
/// ```
pub fn stateless<F>(f: F) -> Stateless<F> {
    Stateless(f)
}

impl<In, Out, F> Transform<In> for Stateless<F>
where
    In: Axis,
    Out: Axis,
    F: Fn(Value<In>, &mut Tracer) -> Value<Out>,
{
    type Out = Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Out> {
        (self.0)(x, cx)
    }

    fn name(&self) -> Option<std::borrow::Cow<'static, str>> {
        Some("stateless".into())
    }
}
