//! The gradients plus a number.

use crate::axis::Axis;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "add_scalar",
    family: Family::Elementwise,
    summary: "g + value",
    reference: "",
    arguments: &[Argument::required("value")],
    build: |args| Ok(Link::both(add_scalar(args.hyper("value")?))),
};

/// The gradients plus a number. Built by [`add_scalar`].
#[derive(Clone, Debug)]
pub struct AddScalar {
    value: Hyper,
    domain: Domain,
}

/// Adds `value` to each element: the eps of a denominator, most often.
///
/// # Errors
/// `value` must be finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let rms = chain((square(), mean(), ema(0.99), add_scalar(1e-8), sqrt()));
/// assert!(program(&rms).is_ok());
/// ```
pub fn add_scalar(value: impl Into<Hyper>) -> AddScalar {
    AddScalar {
        value: value.into(),
        domain: Domain::Finite,
    }
}

impl AddScalar {
    /// The same for a number under a root, which must not be negative.
    pub(crate) fn not_negative(mut self) -> Self {
        self.domain = Domain::NonNegative;
        self
    }
}

impl<In: Axis> Transform<In> for AddScalar {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        x + cx.hyper("value", &self.value, self.domain)
    }
}
