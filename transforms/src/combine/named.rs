//! A link under a name of one's own.

use std::borrow::Cow;

use crate::axis::Axis;
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// A link under another name. Built by [`Compose::named`](super::Compose::named).
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let program = program(&chain((mean(), ema(0.9).named("slow")))).unwrap();
/// assert_eq!(program.hypers()[0].name, "slow.decay");
/// ```
#[derive(Clone, Debug)]
pub struct Named<T> {
    link: T,
    name: String,
}

impl<T> Named<T> {
    pub(super) fn new(link: T, name: String) -> Self {
        Self { link, name }
    }
}

impl<In: Axis, T: Transform<In>> Transform<In> for Named<T> {
    type Out = T::Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<T::Out> {
        self.link.trace(x, cx)
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Owned(self.name.clone()))
    }
}
