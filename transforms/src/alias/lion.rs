//! Lion.

use crate::aggregated::{ScaleByLion, add_decayed_weights, scale_by_learning_rate, scale_by_lion};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::hyper::{Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "lion",
    family: Family::Alias,
    summary: "batch_mean, scale_by_lion, add_decayed_weights, scale_by_learning_rate",
    reference: "Chen et al., 2023, arXiv 2302.06675",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.99"),
        Argument::optional("mode", "hard"),
        Argument::optional("smooth_beta", "1"),
        Argument::optional("weight_decay", "1e-3"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = lion(args.hyper("learning_rate")?);
        link.direction.read(args)?;
        args.set_hyper("weight_decay", &mut link.weight_decay)?;
        let mask = args.leaves("mask")?.unwrap_or(Leaves::All);
        Ok(Link::both(link.mask(mask)))
    },
};

/// Lion. Built by [`lion`].
#[derive(Clone, Debug)]
pub struct Lion {
    learning_rate: Hyper,
    direction: ScaleByLion,
    weight_decay: Hyper,
    mask: Leaves,
}

/// The sign of a mixture of momentum and gradient, with decoupled weight decay:
/// `chain((batch_mean(), scale_by_lion(), add_decayed_weights(weight_decay), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: b1 0.9, b2 0.99, weight decay 1e-3.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&lion(1e-4)).is_ok());
/// ```
///
/// # Reference
/// Chen et al., 2023, arXiv 2302.06675, algorithm 2.
pub fn lion(learning_rate: impl Into<Hyper>) -> Lion {
    Lion {
        learning_rate: learning_rate.into(),
        direction: scale_by_lion(),
        weight_decay: 1e-3.into(),
        mask: Leaves::All,
    }
}

impl Lion {
    hyper_setters! {
        /// The share of the parameters added to the update before the learning rate.
        weight_decay;
        /// The share of the momentum in the direction.
        b1 in direction;
        /// The decay of the momentum.
        b2 in direction;
    }

    /// Replaces the direction: `lion(1e-4).direction(scale_by_lion().mode(LionMode::Smooth))`.
    #[must_use]
    pub fn direction(mut self, direction: ScaleByLion) -> Self {
        self.direction = direction;
        self
    }

    /// The leaves that decay; all unless set.
    #[must_use]
    pub fn mask(mut self, mask: Leaves) -> Self {
        self.mask = mask;
        self
    }
}

impl<In: Axis> Transform<In> for Lion {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = add_decayed_weights(self.weight_decay.or_named("weight_decay"));
        let decay = decay.mask(self.mask.clone());
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.direction, decay, step)), x)
    }
}
