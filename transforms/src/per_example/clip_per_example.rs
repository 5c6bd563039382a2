//! A bound on the norm of each example's gradient.

use crate::axis::{ExamplesApart, PerExample};
use crate::extent::{Extent, Leaf, Widen};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "clip_per_example",
    family: Family::PerExample,
    summary: "g_b * min(1, max_norm / ||g_b||)",
    reference: "Abadi et al., 2016, arXiv 1607.00133",
    arguments: &[
        Argument::required("max_norm"),
        Argument::optional("over", "all"),
        Argument::optional("drop_nonfinite", "false"),
    ],
    build: |args| {
        let link = clip_per_example(args.hyper("max_norm")?);
        Ok(Link::per_example(link.read(args)?))
    },
};

#[derive(Clone, Copy, Debug)]
enum Over {
    AllLeaves,
    EachLeaf,
    EachLeafBySize,
}

/// A bound on the norm of each example's gradient. Built by [`clip_per_example`].
#[derive(Clone, Debug)]
pub struct ClipPerExample {
    max_norm: Hyper,
    domain: Domain,
    over: Over,
    drop_nonfinite: bool,
}

/// Scales each example's gradient down to the Euclidean norm `max_norm` over all leaves, if it is longer.
///
/// `g_b * min(1, max_norm / ||g_b||)`, `[B, ..p] -> [B, ..p]`. The metric `clip_per_example.num_clipped` counts the examples
/// that were longer than the bound, those of infinite norm among them.
///
/// # Edge cases
/// | example | result |
/// |--|--|
/// | all zeros | unchanged, and not counted, also for `max_norm` 0 |
/// | norm equal to the bound | unchanged, and not counted |
/// | `max_norm` 0 | zeros |
/// | `max_norm` infinite | unchanged |
/// | with a NaN | NaN in every element of the example: it shows; see [`drop_nonfinite`](ClipPerExample::drop_nonfinite) |
/// | with an infinity | NaN where it is infinite, 0 elsewhere; see `drop_nonfinite` |
/// | norm above 1.8e19 in f32 | the square overflows: treated as an infinite norm, so the example is zeros |
/// | norm below 1e-23 in f32 | the square underflows: treated as zeros, hence unchanged |
///
/// f16 and bf16 gradients are squared and summed in f32.
///
/// # Errors
/// `max_norm` must not be negative or NaN.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((clip_per_example(1.0), mean()))).is_ok());
/// ```
///
/// # Reference
/// Abadi et al., 2016, arXiv 1607.00133, algorithm 1; Goodfellow, 2015, arXiv 1510.01799. Per-leaf bounds as in optax's
/// `per_example_layer_norm_clip`.
pub fn clip_per_example(max_norm: impl Into<Hyper>) -> ClipPerExample {
    ClipPerExample {
        max_norm: max_norm.into(),
        domain: Domain::Bound,
        over: Over::AllLeaves,
        drop_nonfinite: false,
    }
}

impl ClipPerExample {
    /// Clips each leaf on its own, to `max_norm / sqrt(number of leaves)`, so that the whole stays within `max_norm`.
    #[must_use]
    pub fn per_leaf(mut self) -> Self {
        self.over = Over::EachLeaf;
        self
    }

    /// Clips each leaf on its own, to `max_norm * sqrt(its elements / all elements)`.
    #[must_use]
    pub fn per_leaf_by_size(mut self) -> Self {
        self.over = Over::EachLeafBySize;
        self
    }

    /// With `true`, an example whose norm is not finite counts as zeros. The metric `clip_per_example.num_nonfinite`
    /// counts them. The divisor of a later [`mean`](crate::mean) stays B.
    #[must_use]
    pub fn drop_nonfinite(mut self, drop: bool) -> Self {
        self.drop_nonfinite = drop;
        self
    }

    /// With the options of a specification; what it leaves out stays as it is.
    pub(crate) fn read(mut self, args: &mut Arguments<'_>) -> Result<Self, crate::Error> {
        self = match args.choice("over", &["all", "leaves", "leaves_by_size"])? {
            Some("leaves") => self.per_leaf(),
            Some("leaves_by_size") => self.per_leaf_by_size(),
            _ => self,
        };
        let drop = args.flag("drop_nonfinite")?;
        let drop = drop.unwrap_or(self.drop_nonfinite);
        Ok(self.drop_nonfinite(drop))
    }

    /// Refuses an infinite bound.
    pub(crate) fn finite(mut self) -> Self {
        self.domain = Domain::NonNegative;
        self
    }

    fn clip<E: Extent>(
        &self,
        x: &Value<PerExample>,
        norm: &Value<PerExample, E>,
        bound: &Value<crate::Aggregated, E>,
        cx: &Tracer,
    ) -> Value<PerExample>
    where
        Leaf: Widen<E, Out = Leaf>,
    {
        cx.emit("num_clipped", &norm.gt(bound).as_number().sum());
        let weighted = x * norm.weight_within(bound);
        if !self.drop_nonfinite {
            return weighted;
        }
        let finite = norm.is_finite();
        cx.emit("num_nonfinite", &finite.negate().as_number().sum());
        weighted.keep_where(&finite, 0.0)
    }
}

impl<In: ExamplesApart> Transform<In> for ClipPerExample {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let bound = cx.hyper("max_norm", &self.max_norm, self.domain);
        match self.over {
            Over::AllLeaves => self.clip(&x, &x.norm(), &bound, cx),
            Over::EachLeaf => {
                let one = cx.one_per_leaf();
                let share = &one * bound / one.sum_leaves().sqrt();
                self.clip(&x, &x.leaf_norm(), &share, cx)
            }
            Over::EachLeafBySize => {
                let size = cx.leaf_size();
                let share = (&size / size.sum_leaves()).sqrt() * bound;
                self.clip(&x, &x.leaf_norm(), &share, cx)
            }
        }
    }
}
