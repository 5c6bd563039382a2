//! The gradients times a number.

use crate::axis::Axis;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale",
    family: Family::Elementwise,
    summary: "step_size * g",
    reference: "",
    arguments: &[Argument::required("step_size")],
    build: |args| Ok(Link::both(scale(args.hyper("step_size")?))),
};

/// The same under optax's name for a factor that changes with the step.
pub(crate) const SCALE_BY_SCHEDULE: Entry = Entry {
    name: "scale_by_schedule",
    arguments: &[Argument::required("step_size_fn")],
    build: |args| Ok(Link::both(scale_by_schedule(args.hyper("step_size_fn")?))),
    ..ENTRY
};

/// The gradients times a number. Built by [`scale`].
#[derive(Clone, Debug)]
pub struct Scale {
    step_size: Hyper,
}

/// Multiplies the gradients by `step_size`, a number or a schedule. Its hyper-parameter is `scale.step_size`.
///
/// # Errors
/// `step_size` must be finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale(-0.1)))).is_ok());
/// assert!(program(&chain((mean(), scale(f64::NAN)))).is_err());
/// ```
pub fn scale(step_size: impl Into<Hyper>) -> Scale {
    Scale {
        step_size: step_size.into(),
    }
}

/// [`scale`] under optax's name for a factor that changes with the step. The first update sees `step_size_fn(0)`.
pub fn scale_by_schedule(step_size_fn: impl Into<Hyper>) -> Scale {
    scale(step_size_fn)
}

impl<In: Axis> Transform<In> for Scale {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        x * cx.hyper("step_size", &self.step_size, Domain::Finite)
    }
}
