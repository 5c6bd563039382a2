//! The direction nearest to the mean that harms few examples.

use super::accelerated::{accelerated, steepest};
use crate::axis::{Aggregated, CanReduce};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "least_harm",
    family: Family::OverExamples,
    summary: "argmin_d ||d - mean g||^2 / 2 + lambda * mean_b max(0, -g_b . d)",
    reference: "after Avranas, 2026, arXiv 2607.16261",
    arguments: &[
        Argument::optional("lambda", "inf"),
        Argument::optional("iterations", "30"),
    ],
    build: |args| {
        let mut link = least_harm(f64::INFINITY);
        args.set_hyper("lambda", &mut link.lambda)?;
        let iterations = args.count("iterations")?.unwrap_or(30);
        Ok(Link::per_example(link.iterations(iterations)))
    },
};

/// The direction nearest to the mean that harms few examples. Built by [`least_harm`].
#[derive(Clone, Debug)]
pub struct LeastHarm {
    lambda: Hyper,
    iterations: usize,
}

/// Reduces the examples to the direction `d` nearest to their mean that raises the loss of few of them, to first order:
/// `min_d ||d - mean g||^2 / 2 + lambda * mean_b max(0, -g_b . d)`, `[B, ..p] -> [..p]`, with products over all leaves.
///
/// The answer is a weighted mean, `d = mean_b (1 + a_b) g_b`, where `a` solves the dual problem: the least
/// `a . K a / 2 + a . K 1` over the box `0 <= a <= lambda`, with the Gram matrix `K`. It is found by a fixed number of accelerated
/// projected gradient steps over B numbers; the gradients are read twice. The metrics `least_harm.weight`, `1 + a`, and
/// `least_harm.harmed`, the number of examples with `g_b . d < 0`, say how it went: with an infinite `lambda` and enough
/// iterations no example is harmed, up to rounding.
///
/// `lambda` 0 is the mean. `lambda` infinite is the projection of the mean onto the directions that harm nobody (the dual cone of
/// the examples), as in GEM for tasks. 30 iterations unless set.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | B = 1, or no example harmed by the mean | the mean |
/// | all examples zeros | zeros |
/// | a NaN or an infinity in one example | NaN in every element: it shows |
///
/// # Errors
/// `lambda` must not be negative or NaN.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((least_harm(1.0), scale(-0.1)))).is_ok());
/// ```
///
/// # Reference
/// After Avranas, 2026, arXiv 2607.16261, with a formulation of our own; the projection is that of Lopez-Paz and Ranzato, 2017,
/// arXiv 1706.08840. The acceleration is that of Beck and Teboulle, 2009.
pub fn least_harm(lambda: impl Into<Hyper>) -> LeastHarm {
    LeastHarm {
        lambda: lambda.into(),
        iterations: 30,
    }
}

impl LeastHarm {
    /// How many steps the solver takes.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }
}

impl<In: CanReduce> Transform<In> for LeastHarm {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.to_reduce();
        let lambda = cx.hyper("lambda", &self.lambda, Domain::Bound);
        if self.iterations == 0 {
            return x.mean();
        }
        let gram = x.gram();
        let slope_at_0 = gram.sum_pairs();
        let bound = steepest(&gram);
        let into_box = |a: Value<_, _>| a.max(0.0).min(&lambda);
        let first = into_box(-slope_at_0.div_or_zero(&bound));
        let a = accelerated(self.iterations, first, |ahead| {
            let slope = gram.times(&ahead) + &slope_at_0;
            into_box(ahead - slope.div_or_zero(&bound))
        });
        let weight = a + 1.0;
        cx.emit("weight", &weight);
        let harmed = gram.times(&weight).lt(0.0);
        cx.emit("harmed", &harmed.as_number().sum());
        (x * weight).mean()
    }
}
