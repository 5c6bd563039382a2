//! The update of other links, moved so that it raises the loss of fewer examples.

use super::nearness::{Euclidean, Nearness, Preconditioned};
use crate::axis::{Aggregated, CanReduce, PerExample};
use crate::extent::{Global, Leaf, Pairs};
use crate::hyper::{Domain, Hyper};
use crate::leaves::Leaves;
use crate::over_examples::accelerated::{accelerated, steepest};
use crate::program::Reduction;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "reduce_interference",
    family: Family::Wrapper,
    summary: "argmin_u ||u - u0||^2 / 2 + c * lambda * mean_b max(0, g_b . u), u0 the links of g, c = ||u0|| / rms_b ||g_b||",
    reference: "after Avranas, 2026, arXiv 2607.16261",
    arguments: &[
        Argument::required("links"),
        Argument::required("lambda"),
        Argument::optional("iterations", "30"),
        Argument::optional("layer", "all"),
        Argument::optional("only_layer", "false"),
        Argument::optional("preconditioner", "none"),
        Argument::optional("relative", "true"),
    ],
    build: |args| {
        let mut link = reduce_interference(args.statistic("links")?, args.hyper("lambda")?);
        link.iterations = args.count("iterations")?.unwrap_or(link.iterations);
        link.layer = args.leaves("layer")?.unwrap_or(link.layer);
        link.only_layer = args.flag("only_layer")?.unwrap_or(false);
        link.relative = args.flag("relative")?.unwrap_or(true);
        Ok(match args.optional_statistic("preconditioner")? {
            None => Link::per_example(link),
            Some(diagonal) => Link::per_example(link.preconditioner(diagonal)),
        })
    },
};

/// The update of other links, moved so that it raises the loss of fewer examples. Built by [`reduce_interference`].
#[derive(Clone, Debug)]
pub struct ReduceInterference<T, N = Euclidean> {
    inner: T,
    lambda: Hyper,
    nearness: N,
    iterations: usize,
    layer: Leaves,
    only_layer: bool,
    relative: bool,
}

/// Moves the update `u0` of `inner` to the nearest one that raises the loss of few examples of the batch, to first order:
/// `[B, ..p] -> [..p]`.
///
/// `inner` goes from per-example gradients to updates, which are **added** to the parameters, as those of every optimizer here. An
/// update `u` changes the loss of example b by `g_b . u` to first order; where that is above 0 the example is harmed, be it by the
/// other examples or by the momentum of earlier batches. The result is
///
/// `u = argmin_u ||u - u0||^2 / 2 + beta * sum_b max(0, g_b . u)`.
///
/// With `max(0, x) = max_{0 <= a <= 1} a x` the dual problem has one number for each example: with the Gram matrix
/// `K[b, c] = g_b . g_c` and `p[b] = g_b . u0`,
///
/// `alpha = argmin_alpha alpha . K alpha / 2 - alpha . p` over the box `0 <= alpha <= beta`, and `u = u0 - sum_b alpha_b g_b`.
///
/// It is solved by a fixed number of accelerated projected gradient steps over B numbers, `alpha - (K alpha - p) / L` back into the
/// box, with the largest row sum of `|K|` for `L`. All else is one weighted sum over the examples.
///
/// # Units
/// `lambda` has none: `beta = lambda * ||u0|| / (B * rms_b ||g_b||)`, so that the update is moved by no more than `lambda` times its
/// own length, whatever the learning rate, the loss and the batch size are. 0 leaves `u0`; 1 may take all of it away; infinity lets no
/// example be harmed, where such an update exists (it does: zeros). With [`relative`](ReduceInterference::relative)`(false)`, `lambda`
/// is `beta` itself, in units of the update over those of the gradient: the learning rate over B for plain descent.
///
/// # State
/// That of `inner`, which sees the gradients as they came and knows nothing of the correction: a momentum is the average of plain
/// means, and moments of Adam are too.
///
/// # Metrics
/// | name | what |
/// |--|--|
/// | `alpha` | how much of each example is taken off, `[B]` |
/// | `harmed_before`, `harmed_after` | the share of examples that `u0` and `u` harm, on the layer: those with a product above a thousandth of the largest `abs(g_b . u0)`; less is not told from what the iterations leave |
/// | `gap` | the duality gap in units of the penalty on `u0`: 0 at the solution. Of bounds beyond twice the largest `alpha`, which have the same solution, it is that of twice the largest `alpha` |
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | `lambda` or the iterations 0, no example harmed by `u0`, or a layer of no leaf | `u0`, to the last bit |
/// | B = 1, `u0` downhill | `u0` |
/// | B = 1, `u0` uphill by its momentum, `lambda` infinite | the part of `u0` at a right angle to the gradient |
/// | all examples zeros on the layer | `u0` |
/// | a NaN or an infinity in one example, on the layer | NaN in every element: it shows |
/// | a NaN or an infinity in one example, off the layer | NaN or infinite at that element |
///
/// # Errors
/// `lambda` must not be negative or NaN. A layer that does not fit the model, when the chain is bound to it.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let head = Leaves::matching("head.*");
/// let chain = reduce_interference(adamw(1e-3), 0.5).layer(head);
/// assert!(optimizer_program(&chain).is_ok());
/// ```
///
/// # Reference
/// After Avranas, 2026, arXiv 2607.16261. The penalty, its units and the solver are a formulation of our own, and not quoted from the
/// paper, which reduces a like problem to the batch size and takes its products from the last linear layer. The acceleration is that
/// of Beck and Teboulle, 2009. [`least_harm`](crate::least_harm()) moves the mean instead, before the links after it.
pub fn reduce_interference<T>(inner: T, lambda: impl Into<Hyper>) -> ReduceInterference<T> {
    ReduceInterference {
        inner,
        lambda: lambda.into(),
        nearness: Euclidean,
        iterations: 30,
        layer: Leaves::All,
        only_layer: false,
        relative: true,
    }
}

impl<T, N> ReduceInterference<T, N> {
    /// How many steps the solver takes; 30 unless set.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// The leaves whose gradients make `K`, `p` and the length of `u0`; all unless set.
    ///
    /// The last linear layer is enough for most of what there is to know, and cheap: for softmax and cross entropy with inputs `h_b`,
    /// `r_b = softmax(z_b) - onehot(y_b)`, its weight and bias give `K = (R R^T) * (H H^T + 1)`, element by element.
    #[must_use]
    pub fn layer(mut self, layer: Leaves) -> Self {
        self.layer = layer;
        self
    }

    /// With `true`, the other leaves keep the update of `inner`; else the examples are taken off in all leaves.
    #[must_use]
    pub fn only_layer(mut self, only_layer: bool) -> Self {
        self.only_layer = only_layer;
        self
    }

    /// Whether `lambda` is in units of the length of the update; `true` unless set.
    #[must_use]
    pub fn relative(mut self, relative: bool) -> Self {
        self.relative = relative;
        self
    }

    /// Measures lengths by `||u||^2 = sum u^2 / P`, where `P` is a statistic of the gradients that is not negative, `[..p]`. Then
    /// `K[b, c] = g_b . P g_c`, and `u = u0 - P sum_b alpha_b g_b` moves the parameters that the optimizer moves easily.
    ///
    /// For Adam that is one over the root of its second moment. The links of the statistic keep a moment of their own, of the same
    /// values as that of the inner links but apart from it. A parameter with `P` 0 is not moved.
    ///
    /// # Example
    /// ```
    /// use pergrad_transforms::prelude::*;
    /// let second_moment = chain((mean(), square(), ema(0.999), sqrt(), add_scalar(1e-8), reciprocal()));
    /// let chain = reduce_interference(adam(1e-3), 0.5).preconditioner(second_moment);
    /// assert!(optimizer_program(&chain).is_ok());
    /// ```
    #[must_use]
    pub fn preconditioner<M>(self, statistic: M) -> ReduceInterference<T, Preconditioned<M>> {
        ReduceInterference {
            inner: self.inner,
            lambda: self.lambda,
            nearness: Preconditioned(statistic),
            iterations: self.iterations,
            layer: self.layer,
            only_layer: self.only_layer,
            relative: self.relative,
        }
    }
}

/// What the dual problem is made of.
struct Dual {
    gram: Value<PerExample, Pairs>,
    rise: Value<PerExample, Global>,
    bound: Value<Aggregated, Global>,
}

impl Dual {
    /// The problem on the leaves that the links here see.
    fn new(
        x: &Value<PerExample>,
        update: &Value<Aggregated>,
        diagonal: Option<&Value<Aggregated>>,
        lambda: Value<Aggregated, Global>,
        relative: bool,
        cx: &Tracer,
    ) -> Self {
        let (weighted, update_sq_norm) = match diagonal {
            None => (x.clone(), update.sq_norm()),
            Some(p) => {
                let length = (update.square() / p).keep_where(&p.gt(0.0), 0.0);
                (x * p.sqrt(), length.sum_elements().sum_leaves())
            }
        };
        let bound = if relative {
            let size = update_sq_norm.sqrt();
            let typical = weighted.sq_norm().mean().sqrt();
            // Infinity times 0 has no value; where one of the two is 0, nothing is or can be harmed.
            let some = size.gt(0.0).and(&typical.gt(0.0));
            let bound = lambda * size / typical;
            bound.keep_where(&some, 0.0) / cx.batch_size()
        } else {
            lambda
        };
        Self {
            gram: weighted.gram(),
            rise: x.dot(update),
            bound,
        }
    }

    fn solve(&self, iterations: usize) -> Value<PerExample, Global> {
        let steepest = steepest(&self.gram);
        let into_box = |alpha: Value<_, _>| alpha.max(0.0).min(&self.bound);
        let first = into_box(self.rise.div_or_zero(&steepest));
        accelerated(iterations, first, |ahead| {
            let left = &self.rise - self.gram.times(&ahead);
            into_box(ahead + left.div_or_zero(&steepest))
        })
    }

    fn emit(&self, alpha: &Value<PerExample, Global>, cx: &Tracer) {
        let (before, after) = (&self.rise, &self.rise - self.gram.times(alpha));
        let noticed = before.abs().reduce(Reduction::Max) * 1e-3;
        let share = |rise: &Value<PerExample, Global>| rise.gt(&noticed).as_number().mean();
        cx.emit("alpha", alpha);
        cx.emit("harmed_before", &share(before));
        cx.emit("harmed_after", &share(&after));
        // An infinite bound would make the gap infinite for as long as the last digit of a product is above 0.
        let price = (alpha.reduce(Reduction::Max) * 2.0).min(&self.bound);
        let gap = (after.max(0.0) * &price - alpha * &after).sum();
        cx.emit("gap", &gap.div_or_zero(before.max(0.0).sum() * &price));
    }
}

impl<In, T, N> Transform<In> for ReduceInterference<T, N>
where
    In: CanReduce,
    T: Transform<In, Out = Aggregated>,
    N: Nearness<In>,
{
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let lambda = cx.hyper("lambda", &self.lambda, Domain::Bound);
        let update = cx.apply(&self.inner, x.clone());
        if self.iterations == 0 {
            return update;
        }
        let seen = if self.only_layer {
            self.layer.clone()
        } else {
            Leaves::All
        };
        let diagonal = cx.within(&seen, |cx| self.nearness.diagonal(&x, cx));
        let diagonal: Option<&Value<Aggregated, Leaf>> = diagonal.as_ref();
        let x = x.to_reduce();
        let dual = cx.within(&self.layer, |cx| {
            Dual::new(&x, &update, diagonal, lambda, self.relative, cx)
        });
        let alpha = dual.solve(self.iterations);
        dual.emit(&alpha, cx);
        let taken = (x * alpha).sum();
        let moved = match diagonal {
            None => &update - taken,
            Some(p) => &update - taken * p,
        };
        match &seen {
            Leaves::All => moved,
            seen => cx.choose(seen, &moved, &update),
        }
    }
}
