//! A bound on the norm of the aggregated gradient.

use crate::axis::ExamplesReduced;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "clip_by_global_norm",
    family: Family::Aggregated,
    summary: "g * min(1, max_norm / ||g||)",
    reference: "Pascanu et al., 2012, arXiv 1211.5063",
    arguments: &[Argument::required("max_norm")],
    build: |args| {
        Ok(Link::aggregated(clip_by_global_norm(
            args.hyper("max_norm")?,
        )))
    },
};

/// A bound on the norm of the aggregated gradient. Built by [`clip_by_global_norm`].
#[derive(Clone, Debug)]
pub struct ClipByGlobalNorm {
    max_norm: Hyper,
}

/// Scales the gradient down to the Euclidean norm `max_norm` over all leaves, if it is longer.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | all zeros | zeros, also for `max_norm` 0 |
/// | norm equal to the bound | unchanged |
/// | with a NaN | NaN in every element: it shows |
/// | with an infinity | NaN where it is infinite, 0 elsewhere |
/// | norm above 1.8e19 in f32 | the square overflows: zeros |
///
/// # Errors
/// `max_norm` must not be negative or NaN.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), clip_by_global_norm(1.0)))).is_ok());
/// ```
///
/// # Reference
/// Pascanu, Mikolov, Bengio, 2012, arXiv 1211.5063, algorithm 1.
pub fn clip_by_global_norm(max_norm: impl Into<Hyper>) -> ClipByGlobalNorm {
    ClipByGlobalNorm {
        max_norm: max_norm.into(),
    }
}

impl<In: ExamplesReduced> Transform<In> for ClipByGlobalNorm {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let bound = cx.hyper("max_norm", &self.max_norm, Domain::Bound);
        let weight = x.norm().weight_within(bound);
        (x * weight).as_input()
    }
}
