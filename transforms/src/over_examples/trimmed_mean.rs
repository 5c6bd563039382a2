//! The mean over the examples without the extremes.

use crate::axis::{Aggregated, CanReduce};
use crate::program::Reduction;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "trimmed_mean",
    family: Family::OverExamples,
    summary: "mean_b g_b without the k smallest and k largest of each element",
    reference: "Yin et al., 2018, arXiv 1803.01498",
    arguments: &[Argument::required("k")],
    build: |args| Ok(Link::per_example(trimmed_mean(args.required_count("k")?))),
};

/// The mean over the examples without the extremes. Built by [`trimmed_mean`].
#[derive(Clone, Copy, Debug)]
pub struct TrimmedMean {
    k: usize,
}

/// Averages each element over the examples without its `k` smallest and `k` largest values: `[B, ..p] -> [..p]`.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B <= 2 k | an error that names the link: nothing is left |
/// | k = 0 | the mean |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((trimmed_mean(2), scale(-0.1)))).is_ok());
/// ```
///
/// # Reference
/// Yin, Chen, Ramchandran, Bartlett, 2018, arXiv 1803.01498, which trims a share of the workers; here `k` is a count.
pub fn trimmed_mean(k: usize) -> TrimmedMean {
    TrimmedMean { k }
}

impl<In: CanReduce> Transform<In> for TrimmedMean {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce().reduce(Reduction::TrimmedMean { k: self.k })
    }
}
