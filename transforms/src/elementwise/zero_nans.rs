//! Zeros in place of NaN.

use crate::axis::Axis;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "zero_nans",
    family: Family::Elementwise,
    summary: "0 where g is NaN",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::both(zero_nans())),
};

/// Zeros in place of NaN. Built by [`zero_nans()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroNans;

/// Replaces each NaN by 0. Infinities pass. Before the reduction over examples it saves the other examples from a bad one.
///
/// # Edge cases
/// | input | output |
/// |--|--|
/// | NaN  |  0 |
/// | infinite  |  itself |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((zero_nans(), mean()))).is_ok());
/// ```
pub fn zero_nans() -> ZeroNans {
    ZeroNans
}

impl<In: Axis> Transform<In> for ZeroNans {
    type Out = In;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
        x.is_nan().select(0.0, &x)
    }
}
