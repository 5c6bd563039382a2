//! Differentially private stochastic gradient descent.

use crate::aggregated::{scale_by_learning_rate, trace};
use crate::axis::{Aggregated, ExamplesApart};
use crate::combine::chain;
use crate::hyper::Hyper;
use crate::over_examples::{DifferentiallyPrivateAggregate, differentially_private_aggregate};
use crate::random::Seed;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "dpsgd",
    family: Family::Alias,
    summary: "differentially_private_aggregate, [trace(momentum),] scale_by_learning_rate",
    reference: "Abadi et al., 2016, arXiv 1607.00133",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::required("clip_norm"),
        Argument::required("noise_multiplier"),
        Argument::required("expected_batch_size"),
        Argument::optional("over", "all"),
        Argument::optional("drop_nonfinite", "true"),
        Argument::optional("momentum", "none"),
        Argument::optional("nesterov", "false"),
        Argument::optional("seed", "random"),
    ],
    build: |args| {
        Ok(Link::per_example(Dpsgd {
            learning_rate: args.hyper("learning_rate")?,
            aggregate: DifferentiallyPrivateAggregate::read(args)?,
            momentum: args.optional_hyper("momentum")?,
            nesterov: args.flag("nesterov")?.unwrap_or(false),
        }))
    },
};

/// Differentially private stochastic gradient descent. Built by [`dpsgd`].
#[derive(Clone, Debug)]
pub struct Dpsgd {
    learning_rate: Hyper,
    aggregate: DifferentiallyPrivateAggregate,
    momentum: Option<Hyper>,
    nesterov: bool,
}

/// Steps against the noisy mean of clipped examples:
/// `chain((differentially_private_aggregate(clip_norm, noise_multiplier, expected_batch_size), scale_by_learning_rate(learning_rate)))`,
/// with [`trace`](crate::trace) between them if there is momentum. For other optimizers, write the chain.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&dpsgd(0.1, 1.0, 1.1, 256).momentum(0.9)).is_ok());
/// ```
///
/// # Reference
/// Abadi et al., 2016, arXiv 1607.00133; optax's `dpsgd`, which divides by the size of the batch that came.
pub fn dpsgd(
    learning_rate: impl Into<Hyper>,
    clip_norm: impl Into<Hyper>,
    noise_multiplier: impl Into<Hyper>,
    expected_batch_size: impl Into<Hyper>,
) -> Dpsgd {
    Dpsgd {
        learning_rate: learning_rate.into(),
        aggregate: differentially_private_aggregate(
            clip_norm,
            noise_multiplier,
            expected_batch_size,
        ),
        momentum: None,
        nesterov: false,
    }
}

impl Dpsgd {
    /// The decay of the momentum; none unless set. See [`trace`](crate::trace).
    #[must_use]
    pub fn momentum(mut self, momentum: impl Into<Hyper>) -> Self {
        self.momentum = Some(momentum.into());
        self
    }

    /// Whether the momentum looks one step ahead. Without momentum it has no effect.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// What the noise begins with; a seed of the operating system unless set. See [`Seed`].
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.aggregate = self.aggregate.seed(seed);
        self
    }
}

impl<In: ExamplesApart> Transform<In> for Dpsgd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let momentum = self.momentum.as_ref();
        let momentum = momentum.map(|m| trace(m.or_named("momentum")).nesterov(self.nesterov));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((&self.aggregate, momentum, step)), x.apart())
    }
}
