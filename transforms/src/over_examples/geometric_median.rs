//! The point whose distances to the examples have the smallest sum.

use crate::axis::{Aggregated, CanReduce};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "geometric_median",
    family: Family::OverExamples,
    summary: "sum_b w_b * g_b / sum_b w_b with w_b = 1 / max(||g_b - the last of these||, eps), some times over",
    reference: "Pillutla et al., 2019, arXiv 1912.13445",
    arguments: &[
        Argument::optional("iterations", "8"),
        Argument::optional("eps", "1e-6"),
    ],
    build: |args| {
        let iterations = args.count("iterations")?.unwrap_or(8);
        let mut link = geometric_median(iterations);
        args.set_hyper("eps", &mut link.eps)?;
        Ok(Link::per_example(link))
    },
};

/// The point whose distances to the examples have the smallest sum. Built by [`geometric_median`].
#[derive(Clone, Debug)]
pub struct GeometricMedian {
    iterations: usize,
    eps: Hyper,
}

/// Reduces the examples to their geometric median, the `z` of the smallest `sum_b ||g_b - z||` over all leaves: `[B, ..p] -> [..p]`.
/// Up to half of the examples may be anything finite, and it stays near the others; unlike a [`median`](crate::median()) it does not
/// depend on the coordinates.
///
/// A fixed number of Weiszfeld's iterations from the mean: `z <- sum_b w_b g_b / sum_b w_b` with `w_b = 1 / max(||g_b - z||, eps)`.
/// Each `z` is a weighted mean of the examples, so that the iterations are over B weights and the Gram matrix, and the gradients
/// are read twice, however many there are. eps is 1e-6 unless set, in units of the gradient.
///
/// The metric `geometric_median.weight` has the last weights, `[B]`, of mean 1.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | B = 1, or all examples equal | the example |
/// | `iterations` 0 | the mean |
/// | a NaN or an infinity in one example | NaN in every element: it shows |
/// | a squared norm beyond f32 | NaN in every element |
/// | distances below 3e-4 of the norms, in f32 | the weights are rounding; the result is among the examples all the same |
///
/// # Errors
/// `eps` must be finite and above 0.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((geometric_median(8), scale(-0.1)))).is_ok());
/// ```
///
/// # Reference
/// Weiszfeld, 1937; the smoothed form of Pillutla, Kakade, Harchaoui, 2019, arXiv 1912.13445, algorithm 2.
pub fn geometric_median(iterations: usize) -> GeometricMedian {
    GeometricMedian {
        iterations,
        eps: 1e-6.into(),
    }
}

impl GeometricMedian {
    /// The smallest distance that counts.
    #[must_use]
    pub fn eps(mut self, eps: impl Into<Hyper>) -> Self {
        self.eps = eps.into();
        self
    }
}

impl<In: CanReduce> Transform<In> for GeometricMedian {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.to_reduce();
        let eps = cx.hyper("eps", &self.eps, Domain::Positive);
        if self.iterations == 0 {
            return x.mean();
        }
        let (gram, sq_norm) = (x.gram(), x.sq_norm());
        // The products of each example with z, and the squared norm of z; at first z is the mean.
        let mut with_z = gram.sum_pairs() / cx.batch_size();
        let mut sq_norm_of_z = with_z.mean();
        let mut iterations = 0;
        loop {
            let sq_distance = &sq_norm - &with_z * 2.0 + &sq_norm_of_z;
            let weight = 1.0 / sq_distance.max(0.0).sqrt().max(&eps);
            let weight = &weight / weight.mean();
            iterations += 1;
            if iterations == self.iterations {
                cx.emit("weight", &weight);
                return (x * weight).mean();
            }
            with_z = gram.times(&weight) / cx.batch_size();
            sq_norm_of_z = (weight * &with_z).mean();
        }
    }
}
