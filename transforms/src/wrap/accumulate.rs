//! Several micro-batches to a step: their mean or sum goes on when enough have come.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Predicate;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "accumulate",
    family: Family::Wrapper,
    summary: "at every k-th g the links of the mean of the last k, else 0",
    reference: "",
    arguments: &[
        Argument::required("links"),
        Argument::required("every_k"),
        Argument::optional("use_grad_mean", "true"),
        Argument::optional("skip_not_finite", "false"),
        Argument::optional("skip_larger_than", "none"),
    ],
    build: |args| {
        let link = accumulate(args.aggregated_links("links")?, args.hyper("every_k")?);
        let mut link = link
            .mean(args.flag("use_grad_mean")?.unwrap_or(true))
            .skip_not_finite(args.flag("skip_not_finite")?.unwrap_or(false));
        if let Some(bound) = args.optional_hyper("skip_larger_than")? {
            link = link.skip_larger_than(bound);
        }
        Ok(Link::aggregated(link))
    },
};

/// Several micro-batches to a step. Built by [`accumulate`].
#[derive(Clone, Debug)]
pub struct Accumulate<T> {
    inner: T,
    every_k: Hyper,
    mean: bool,
    skip_not_finite: bool,
    skip_larger_than: Option<Hyper>,
}

/// Collects the gradients of `every_k` micro-batches, and applies `inner` to their mean: `a <- a + (g - a) / (n + 1)`.
///
/// A step that only collects gives zero updates, and the metric `accumulate.has_updated` is 0; it is 1 at a step in which `inner`
/// acted. Where `every_k` says so, and not what is in the gradients, this is known before the step, and what `inner` does is
/// computed in the steps in which it acts only.
///
/// `inner` counts the steps in which it acts: its debiasing and its schedules know nothing of the micro-batches. `every_k` may be a
/// schedule too; it is evaluated at that count, so it changes between two steps of `inner`.
///
/// This is over gradients that are already reduced over their examples: micro-batches of different sizes have the same weight, and
/// a chain with something between its examples and their mean sees each micro-batch on its own.
///
/// # State
/// `accumulate.gradients`, in the shape of the parameters and in f32 or better; `.mini_step`, the micro-batches collected;
/// `.gradient_step`, the steps of `inner`.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `every_k` 1 | `inner` at every step |
/// | a NaN in a micro-batch | in that element of the next step, and not of the one after it |
/// | a micro-batch that is skipped | zero updates; nothing is counted or collected |
///
/// # Errors
/// `every_k` must be a whole number of at least 1, at each of its steps if it is a schedule.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), accumulate(adam(1e-3), 4)))).is_ok());
/// ```
pub fn accumulate<T>(inner: T, every_k: impl Into<Hyper>) -> Accumulate<T> {
    Accumulate {
        inner,
        every_k: every_k.into(),
        mean: true,
        skip_not_finite: false,
        skip_larger_than: None,
    }
}

impl<T> Accumulate<T> {
    /// Whether `inner` gets the mean of the micro-batches; `false` gives it their sum.
    #[must_use]
    pub fn mean(mut self, mean: bool) -> Self {
        self.mean = mean;
        self
    }

    /// With `true`, a micro-batch with a NaN or an infinity does not count.
    #[must_use]
    pub fn skip_not_finite(mut self, skip: bool) -> Self {
        self.skip_not_finite = skip;
        self
    }

    /// A micro-batch whose squared norm over all leaves is not below `max_squared_norm` does not count.
    #[must_use]
    pub fn skip_larger_than(mut self, max_squared_norm: impl Into<Hyper>) -> Self {
        self.skip_larger_than = Some(max_squared_norm.into());
        self
    }

    /// Whether the micro-batch counts; nothing if every one does.
    fn counts(
        &self,
        x: &Value<Aggregated>,
        cx: &mut Tracer,
    ) -> Option<Predicate<Aggregated, Global>> {
        let finite = self.skip_not_finite.then(|| x.all_finite());
        let small = self.skip_larger_than.as_ref().map(|bound| {
            let bound = cx.hyper("skip_larger_than", bound, Domain::Bound);
            x.sq_norm().lt(bound)
        });
        match (finite, small) {
            (Some(finite), Some(small)) => Some(finite.and(&small)),
            (finite, small) => finite.or(small),
        }
    }

    /// The updates of a micro-batch that counts, and whether `inner` acted.
    fn collect(
        &self,
        x: &Value<Aggregated>,
        cx: &mut Tracer,
    ) -> (Value<Aggregated>, Predicate<Aggregated, Global>)
    where
        T: Transform<Aggregated, Out = Aggregated>,
    {
        let mini_step = cx.slot::<Global>("mini_step", 0.0);
        let gradient_step = cx.slot::<Global>("gradient_step", 0.0);
        let collected = cx.slot::<Leaf>("gradients", 0.0);
        let k = cx.hyper_at("every_k", &self.every_k, Domain::Count, &gradient_step);

        let count = mini_step.before() + 1.0;
        let emit = count.ge(k);
        let before = collected.before();
        let gradients = if self.mean {
            &before + (x - &before) / &count
        } else {
            before + x
        };
        let inside = gradients.clone();
        let inner = cx.guarded_by(&emit, &gradient_step, |cx| cx.apply(&self.inner, inside));

        let steps = gradient_step.before() + emit.as_number();
        cx.set(mini_step, &emit.select(0.0, count));
        cx.set(gradient_step, &steps);
        cx.set(collected, &emit.select(0.0, gradients));
        (inner, emit)
    }
}

impl<In, T> Transform<In> for Accumulate<T>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let (inner, updated) = match self.counts(&x, cx) {
            None => self.collect(&x, cx),
            Some(counts) => {
                let (inner, emit) = cx.guarded(&counts, |cx| self.collect(&x, cx));
                (inner, emit.and(&counts))
            }
        };
        cx.emit("has_updated", &updated.as_number());
        inner.keep_where(&updated, 0.0).as_input()
    }
}
