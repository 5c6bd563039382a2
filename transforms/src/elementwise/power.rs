//! Each element to a power.

use crate::axis::Axis;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "power",
    family: Family::Elementwise,
    summary: "g ^ exponent",
    reference: "",
    arguments: &[Argument::required("exponent")],
    build: |args| Ok(Link::both(power(args.hyper("exponent")?))),
};

/// Each element to a power. Built by [`power`].
#[derive(Clone, Debug)]
pub struct Power {
    exponent: Hyper,
}

/// Raises each element of the gradient to the power `exponent`.
///
/// # Edge cases
/// | element | exponent | result |
/// |--|--|--|
/// | 0 | negative | 0, so that a coordinate without gradient stays without one |
/// | 0 | 0 | 1 |
/// | negative | not a whole number | NaN; take `abs()` first |
///
/// # Errors
/// `exponent` must be finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((abs(), power(1.5), mean()))).is_ok());
/// ```
pub fn power(exponent: impl Into<Hyper>) -> Power {
    Power {
        exponent: exponent.into(),
    }
}

impl<In: Axis> Transform<In> for Power {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let exponent = cx.hyper("exponent", &self.exponent, Domain::Finite);
        let pole = x.equal(0.0).and(&exponent.lt(0.0));
        pole.select(0.0, x.pow(&exponent))
    }
}
