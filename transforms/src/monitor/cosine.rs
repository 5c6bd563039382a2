//! How the examples of a batch agree: the cosines of all pairs.

use crate::axis::{ExamplesApart, PerExample};
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "cosine",
    family: Family::Monitor,
    summary: "cosine.mean, cosine.min, cosine.negative: of g_b . g_c / (||g_b|| * ||g_c||) over the pairs b != c",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::per_example(cosine())),
};

/// How the examples of a batch agree. Built by [`cosine`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Cosine;

/// Passes the gradients on, and sums up the cosines `g_b . g_c / (||g_b|| ||g_c||)` of all pairs of different examples, with products
/// over all leaves.
///
/// | metric | what |
/// |--|--|
/// | `cosine.mean` | the mean |
/// | `cosine.min` | the smallest |
/// | `cosine.negative` | the share of the pairs below 0: a step along one harms the other |
///
/// The cosine with an example of zeros is 0. It takes the Gram matrix, `[B, B]` products, which
/// [`least_harm`](crate::least_harm()), [`upgrad`](crate::upgrad()) and [`project_conflicts`](crate::project_conflicts()) share.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B < 2 | NaN: there is no pair |
/// | all gradients zeros | 0, 0 and 0 |
/// | all examples along one direction | 1, 1 and 0, but for rounding |
/// | norm below 1e-19 in f32 | its cosines have fewer digits, since its square is subnormal; 0 where the device has no such numbers |
/// | norm below 1e-23 in f32 | the square underflows: treated as zeros |
/// | a NaN or an infinity in one example | `mean` and `min` are NaN; its pairs do not count as negative |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((monitor::cosine(), mean()))).is_ok());
/// ```
///
/// # Reference
/// The Gram matrix as in Yu et al., 2020, arXiv 2001.06782, for tasks.
pub fn cosine() -> Cosine {
    Cosine
}

impl<In: ExamplesApart> Transform<In> for Cosine {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let norm = x.norm();
        // A product with an example whose square underflows need not underflow itself: over infinity it is 0.
        let length = norm.equal(0.0).select(f64::INFINITY, &norm);
        let cosine = x.gram().div_or_zero(&length * length.across());
        let b = cx.batch_size();
        let pairs = &b * (&b - 1.0);
        let exist = pairs.gt(0.0);
        // Each example has the cosine 1 with itself, or 0 if it is zeros: neither below the others of its row, nor negative.
        let itself = norm.gt(0.0).as_number().sum();
        let mean = (cosine.sum_pairs().sum() - itself) / &pairs;
        let least = 1.0 - (1.0 - &cosine).max_pairs().across().max_pairs();
        let negative = cosine.lt(0.0).as_number().sum_pairs().sum() / &pairs;
        for (field, value) in [("mean", mean), ("min", least), ("negative", negative)] {
            cx.emit(field, &exist.select(value, f64::NAN));
        }
        x
    }
}
