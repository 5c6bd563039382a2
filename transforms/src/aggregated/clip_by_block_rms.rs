//! A bound on the root mean square of each leaf.

use crate::axis::ExamplesReduced;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "clip_by_block_rms",
    family: Family::Aggregated,
    summary: "g / max(1, rms(g) / threshold)",
    reference: "Shazeer and Stern, 2018, arXiv 1804.04235",
    arguments: &[Argument::required("threshold")],
    build: |args| {
        Ok(Link::aggregated(clip_by_block_rms(
            args.hyper("threshold")?,
        )))
    },
};

/// A bound on the root mean square of each leaf. Built by [`clip_by_block_rms`].
#[derive(Clone, Debug)]
pub struct ClipByBlockRms {
    threshold: Hyper,
}

/// Scales each leaf's gradient down to the root mean square `threshold`, if it is larger.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | all zeros | zeros, also for `threshold` 0 |
/// | with a NaN | NaN in every element of the leaf: it shows |
///
/// # Errors
/// `threshold` must not be negative or NaN.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), clip_by_block_rms(0.5)))).is_ok());
/// ```
///
/// # Reference
/// Shazeer, Stern, 2018, arXiv 1804.04235.
pub fn clip_by_block_rms(threshold: impl Into<Hyper>) -> ClipByBlockRms {
    ClipByBlockRms {
        threshold: threshold.into(),
    }
}

impl<In: ExamplesReduced> Transform<In> for ClipByBlockRms {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let threshold = cx.hyper("threshold", &self.threshold, Domain::Bound);
        let mean_square = x.leaf_sq_norm().div_or_zero(cx.leaf_size());
        let weight = mean_square.sqrt().weight_within(threshold);
        (x * weight).as_input()
    }
}
