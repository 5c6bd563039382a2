//! Each example's gradient times a given weight.

use crate::axis::{ExamplesApart, PerExample};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_per_example",
    family: Family::PerExample,
    summary: "w_b * g_b, with the weights given at each step",
    reference: "",
    arguments: &[Argument::required("weights")],
    build: |args| Ok(Link::per_example(scale_per_example(args.text("weights")?))),
};

/// Each example's gradient times a given weight. Built by [`scale_per_example`].
#[derive(Clone, Debug)]
pub struct ScalePerExample {
    weights: String,
}

/// Multiplies each example's gradient by its weight: `w_b * g_b`, `[B, ..p] -> [B, ..p]`.
///
/// `weights` is a name; the B weights are given under it at each step, as an extra of the step. They may be negative. Use
/// it for importance sampling, class weights or padding (weight 0).
///
/// # Edge cases
/// | weight | example | result |
/// |--|--|--|
/// | 0 | finite | zeros |
/// | 0 | NaN or infinite | NaN: a weight does not hide a bad example |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let program = program(&chain((scale_per_example("importance"), mean()))).unwrap();
/// assert_eq!(program.extras()[0].name, "importance");
/// ```
pub fn scale_per_example(weights: impl Into<String>) -> ScalePerExample {
    ScalePerExample {
        weights: weights.into(),
    }
}

impl<In: ExamplesApart> Transform<In> for ScalePerExample {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        x.apart() * cx.example_extra(&self.weights)
    }
}
