//! Stochastic gradient descent with noise that fades.

use crate::aggregated::{add_noise, scale_by_learning_rate};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::random::Seed;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "noisy_sgd",
    family: Family::Alias,
    summary: "batch_mean, add_noise(eta, gamma), scale_by_learning_rate",
    reference: "Neelakantan et al., 2014, arXiv 1511.06807",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("eta", "0.01"),
        Argument::optional("gamma", "0.55"),
        Argument::optional("seed", "random"),
    ],
    build: |args| {
        let mut link = noisy_sgd(args.hyper("learning_rate")?).seed(args.seed()?);
        args.set_hyper("eta", &mut link.eta)?;
        args.set_hyper("gamma", &mut link.gamma)?;
        Ok(Link::both(link))
    },
};

/// Stochastic gradient descent with noise that fades. Built by [`noisy_sgd`].
#[derive(Clone, Debug)]
pub struct NoisySgd {
    learning_rate: Hyper,
    eta: Hyper,
    gamma: Hyper,
    seed: Seed,
}

/// Steps against the mean gradient with noise: `chain((batch_mean(), add_noise(eta, gamma, seed),
/// scale_by_learning_rate(learning_rate)))`. The defaults are `eta` 0.01, `gamma` 0.55 and a seed of the operating system.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&noisy_sgd(0.1).eta(0.3).seed(Seed::from(7))).is_ok());
/// ```
///
/// # Reference
/// Neelakantan et al., 2014, arXiv 1511.06807; optax's `noisy_sgd`, whose seed is 0 unless set.
pub fn noisy_sgd(learning_rate: impl Into<Hyper>) -> NoisySgd {
    NoisySgd {
        learning_rate: learning_rate.into(),
        eta: 0.01.into(),
        gamma: 0.55.into(),
        seed: Seed::from_os(),
    }
}

impl NoisySgd {
    hyper_setters! {
        /// The variance of the noise at the first step.
        eta;
        /// How fast the noise fades.
        gamma;
    }

    /// What the noise begins with; see [`Seed`].
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }
}

impl<In: Axis> Transform<In> for NoisySgd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let noise = add_noise(self.eta.clone(), self.gamma.clone(), self.seed.clone());
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), noise, step)), x)
    }
}
