//! The variance over the examples.

use crate::axis::{Aggregated, CanReduce};
use crate::program::Reduction;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "variance",
    family: Family::OverExamples,
    summary: "sum_b (g_b - mean g)^2 / (B - ddof)",
    reference: "",
    arguments: &[Argument::optional("ddof", "0")],
    build: |args| {
        Ok(Link::per_example(variance(
            args.count("ddof")?.unwrap_or(0),
        )))
    },
};

/// The variance over the examples. Built by [`variance`].
#[derive(Clone, Copy, Debug)]
pub struct Variance {
    ddof: usize,
}

/// Takes the variance of each element over the examples: `[B, ..p] -> [..p]`, in squared units of the gradient.
///
/// `ddof` is taken off the divisor: 0 gives the biased variance (divided by B), 1 the unbiased one (by B - 1). It is
/// computed from the deviations, never as `mean(g^2) - mean(g)^2`, so it is right where the mean is large and never
/// negative.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B <= ddof | an error that names the link: the variance has no value there |
/// | B = 1, ddof = 0 | 0 |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((variance(1), ema(0.999), sqrt()))).is_ok());
/// ```
pub fn variance(ddof: usize) -> Variance {
    Variance { ddof }
}

impl<In: CanReduce> Transform<In> for Variance {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<Aggregated> {
        x.to_reduce()
            .reduce(Reduction::Variance { ddof: self.ddof })
    }
}
