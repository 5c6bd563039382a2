//! The mean of the examples, each without what it takes from the others.

use crate::axis::{Aggregated, CanReduce};
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "project_conflicts",
    family: Family::OverExamples,
    summary: "mean_b (g_b - sum_c min(0, g_b . g_c) / ||g_c||^2 * g_c)",
    reference: "after Yu et al., 2020, arXiv 2001.06782",
    arguments: &[],
    build: |_| Ok(Link::per_example(project_conflicts())),
};

/// The mean of the examples, each without what it takes from the others. Built by [`project_conflicts`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectConflicts;

/// Takes from each example its part along every other one that it points against, then averages: `[B, ..p] -> [..p]`.
///
/// `mean_b (g_b - sum_c min(0, g_b . g_c) / ||g_c||^2 * g_c)`, with products over all leaves: a weighted mean with the weights
/// `1 + sum_b max(0, -g_b . g_c) / ||g_c||^2`, which are the metric `project_conflicts.weight`, `[B]`.
///
/// For two examples this is PCGrad. For more, PCGrad projects one after the other, in a random order; here all parts are taken of
/// the gradients as they came, so the order of the examples does not matter.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | B = 1, or no two examples in conflict | the mean |
/// | an example of zeros | in conflict with none |
/// | a NaN or an infinity in one example | NaN in every element: it shows |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((project_conflicts(), scale(-0.1)))).is_ok());
/// ```
///
/// # Reference
/// Yu, Kumar, Gupta, Levine, Hausman, Finn, 2020, arXiv 2001.06782, algorithm 1.
pub fn project_conflicts() -> ProjectConflicts {
    ProjectConflicts
}

impl<In: CanReduce> Transform<In> for ProjectConflicts {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.to_reduce();
        // The matrix is symmetric, so row b has what the others take from example b.
        let conflict = (-x.gram()).max(0.0).sum_pairs();
        let weight = conflict.div_or_zero(x.sq_norm()) + 1.0;
        cx.emit("weight", &weight);
        (x * weight).mean()
    }
}
