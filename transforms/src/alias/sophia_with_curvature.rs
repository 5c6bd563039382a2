//! Sophia, whose estimate of the curvature is a statistic of the examples.

use crate::aggregated::moments::{average, debiased};
use crate::aggregated::{add_decayed_weights, scale_by_learning_rate};
use crate::axis::{Aggregated, ExamplesApart, PerExample};
use crate::combine::chain;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sophia_with_curvature",
    family: Family::Alias,
    summary: "clip(ema(mean, b1) / max(gamma * ema(statistic, b2), eps), clip_threshold), add_decayed_weights, scale_by_learning_rate",
    reference: "Liu et al., 2023, arXiv 2305.14342",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::required("statistic"),
        Argument::optional("b1", "0.965"),
        Argument::optional("b2", "0.99"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("gamma", "0.01"),
        Argument::optional("clip_threshold", "1"),
        Argument::optional("weight_decay", "1e-4"),
        Argument::optional("weight_decay_mask", "all"),
    ],
    build: |args| {
        let statistic = args.statistic("statistic")?;
        let mut link = sophia_with_curvature(args.hyper("learning_rate")?, statistic);
        args.set_hyper("b1", &mut link.b1)?;
        args.set_hyper("b2", &mut link.b2)?;
        args.set_hyper("eps", &mut link.eps)?;
        args.set_hyper("gamma", &mut link.gamma)?;
        args.set_hyper("clip_threshold", &mut link.clip_threshold)?;
        args.set_hyper("weight_decay", &mut link.weight_decay)?;
        if let Some(mask) = args.leaves("weight_decay_mask")? {
            link.weight_decay_mask = mask;
        }
        Ok(Link::per_example(link))
    },
};

/// Sophia with a statistic for its curvature. Built by [`sophia_with_curvature`].
#[derive(Clone, Debug)]
pub struct SophiaWithCurvature<Statistic> {
    learning_rate: Hyper,
    statistic: Statistic,
    b1: Hyper,
    b2: Hyper,
    eps: Hyper,
    gamma: Hyper,
    clip_threshold: Hyper,
    weight_decay: Hyper,
    weight_decay_mask: Leaves,
}

/// Divides an average of the mean gradients by an average of the diagonal of the Hessian, and clips each element of the result:
/// `clip(ema(mean, b1) / max(gamma * h, eps), clip_threshold)`, then [`add_decayed_weights`](crate::add_decayed_weights) and the
/// learning rate. `h <- b2 h + (1 - b2) statistic` is that of the step before.
///
/// Where optax takes a product of the Hessian with a random vector, the diagonal is here a statistic of the examples, which costs
/// no second backward pass: `square().then(mean())` is the diagonal of the empirical Fisher matrix. It is taken at each step.
///
/// Defaults are optax's: b1 0.965, b2 0.99, eps 1e-8, gamma 0.01, clip_threshold 1, weight_decay 1e-4.
///
/// # State
/// Two averages, in the shape of the parameters.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | first step | the average is divided by `eps`: each element is clipped |
/// | all zeros | the decay only |
/// | a negative curvature | `eps` divides, and the element is clipped |
///
/// # Errors
/// `b1` and `b2` must be at least 0 and below 1, `clip_threshold` not negative, the others finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let optimizer = sophia_with_curvature(1e-3, square().then(mean()));
/// assert!(optimizer_program(&optimizer).is_ok());
/// ```
///
/// # Reference
/// Liu et al., 2023, arXiv 2305.14342, algorithm 3; the statistic in place of an estimator is our reading.
pub fn sophia_with_curvature<Statistic>(
    learning_rate: impl Into<Hyper>,
    statistic: Statistic,
) -> SophiaWithCurvature<Statistic>
where
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    SophiaWithCurvature {
        learning_rate: learning_rate.into(),
        statistic,
        b1: 0.965.into(),
        b2: 0.99.into(),
        eps: 1e-8.into(),
        gamma: 0.01.into(),
        clip_threshold: 1.0.into(),
        weight_decay: 1e-4.into(),
        weight_decay_mask: Leaves::All,
    }
}

impl<Statistic> SophiaWithCurvature<Statistic> {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the curvature.
        b2;
        /// The smallest divisor.
        eps;
        /// The factor of the curvature.
        gamma;
        /// The largest element of the result before decay and learning rate; infinity clips nothing.
        clip_threshold;
        /// The share of the parameters added to the update before the learning rate.
        weight_decay;
    }

    /// The leaves that decay; all unless set.
    #[must_use]
    pub fn weight_decay_mask(mut self, mask: Leaves) -> Self {
        self.weight_decay_mask = mask;
        self
    }
}

impl<In, Statistic> Transform<In> for SophiaWithCurvature<Statistic>
where
    In: ExamplesApart,
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.apart();
        let b1 = cx.hyper("b1", &self.b1.or_named("b1"), Domain::Decay);
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Decay);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let gamma = self.gamma.or_named("gamma");
        let gamma = cx.hyper("gamma", &gamma, Domain::NonNegative);
        let threshold = self.clip_threshold.or_named("clip_threshold");
        let threshold = cx.hyper("clip_threshold", &threshold, Domain::Bound);

        let first = average(cx, "first", &b1, &x.mean());
        let curvature = cx.slot::<Leaf>("curvature", 0.0);
        let fresh = cx.apply(&self.statistic, x) * (1.0 - &b2);
        let divisor = (curvature.before() * gamma).max(eps);
        let next = curvature.before() * b2 + fresh;
        cx.set(curvature, &next);
        let direction = debiased(cx, &first, &b1).div_or_zero(divisor);
        let clipped = direction.max(-&threshold).min(threshold);

        let decay = add_decayed_weights(self.weight_decay.or_named("weight_decay"));
        let decay = decay.mask(self.weight_decay_mask.clone());
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((decay, step)), clipped)
    }
}
