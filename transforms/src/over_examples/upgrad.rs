//! The mean of the examples, each moved to the nearest direction that harms no other.

use super::accelerated::{accelerated, steepest};
use crate::axis::{Aggregated, CanReduce};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "upgrad",
    family: Family::OverExamples,
    summary: "mean_b argmin_d ||d - g_b|| with g_c . d >= 0 for every c",
    reference: "Quinton and Rey, 2024, arXiv 2406.16232",
    arguments: &[Argument::optional("iterations", "30")],
    build: |args| {
        let iterations = args.count("iterations")?.unwrap_or(30);
        Ok(Link::per_example(upgrad(iterations)))
    },
};

/// The mean of the examples, each moved to the nearest direction that harms no other. Built by [`upgrad`].
#[derive(Clone, Copy, Debug)]
pub struct Upgrad {
    iterations: usize,
}

/// Projects the gradient of each example onto the directions along which no loss of the batch rises, to first order (the dual cone
/// of the gradients), and averages the projections: `[B, ..p] -> [..p]`, with products over all leaves.
///
/// [`least_harm`](crate::least_harm()) projects the mean; here each example is projected on its own, so that one of a large norm does
/// not decide alone.
///
/// The projection of `g_b` is `sum_c (e_b + v_b)[c] g_c`, where `v_b >= 0` makes `(e_b + v_b) K (e_b + v_b)` least, with the Gram
/// matrix `K`. All `v_b` are the rows of one matrix, `V <- max(0, V - (K + V K) / L)`, for a fixed number of accelerated steps over
/// `[B, B]` numbers; the gradients are read twice. The metric `upgrad.weight`, `[B]`, has the weight of each example in the mean.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | B = 1, or no two examples in conflict | the mean |
/// | all examples zeros | zeros |
/// | a NaN or an infinity in one example | NaN in every element: it shows |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((upgrad(30), scale(-0.1)))).is_ok());
/// ```
///
/// # Reference
/// Quinton, Rey, 2024, arXiv 2406.16232, section 3, without the small multiple of the identity that their solver adds to `K`.
pub fn upgrad(iterations: usize) -> Upgrad {
    Upgrad { iterations }
}

impl<In: CanReduce> Transform<In> for Upgrad {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.to_reduce();
        if self.iterations == 0 {
            return x.mean();
        }
        let gram = x.gram();
        let bound = steepest(&gram);
        let first = (-&gram).div_or_zero(&bound).max(0.0);
        let v = accelerated(self.iterations, first, |ahead| {
            let slope = ahead.product(&gram) + &gram;
            (ahead - slope.div_or_zero(&bound)).max(0.0)
        });
        // What all rows give to an example.
        let weight = v.transpose().sum_pairs() + 1.0;
        cx.emit("weight", &weight);
        (x * weight).mean()
    }
}
