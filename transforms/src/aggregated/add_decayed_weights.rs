//! Weight decay: a share of the parameters added to the gradients.

use crate::axis::Axis;
use crate::hyper::{Domain, Hyper};
use crate::leaves::Leaves;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "add_decayed_weights",
    family: Family::Aggregated,
    summary: "g + weight_decay * p",
    reference: "Loshchilov and Hutter, 2017, arXiv 1711.05101",
    arguments: &[
        Argument::required("weight_decay"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let link = add_decayed_weights(args.hyper("weight_decay")?);
        let mask = args.leaves("mask")?.unwrap_or(Leaves::All);
        Ok(Link::both(link.mask(mask)))
    },
};

/// Weight decay: a share of the parameters added to the gradients. Built by [`add_decayed_weights`].
#[derive(Clone, Debug)]
pub struct AddDecayedWeights {
    weight_decay: Hyper,
    mask: Leaves,
}

/// Adds `weight_decay * p` to the gradients, before or after the reduction over examples.
///
/// As the last link but the learning rate it is decoupled weight decay: the parameters shrink by
/// `learning_rate * weight_decay` of themselves.
///
/// # Errors
/// `weight_decay` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let decay = add_decayed_weights(1e-4).mask(Leaves::RankAtLeast(2)); // not the biases
/// assert!(program(&chain((mean(), decay, scale(-0.1)))).is_ok());
/// ```
///
/// # Reference
/// Loshchilov, Hutter, 2017, arXiv 1711.05101.
pub fn add_decayed_weights(weight_decay: impl Into<Hyper>) -> AddDecayedWeights {
    AddDecayedWeights {
        weight_decay: weight_decay.into(),
        mask: Leaves::All,
    }
}

impl AddDecayedWeights {
    /// The leaves that decay; the others pass unchanged.
    #[must_use]
    pub fn mask(mut self, mask: Leaves) -> Self {
        self.mask = mask;
        self
    }
}

impl<In: Axis> Transform<In> for AddDecayedWeights {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let decay = cx.hyper("weight_decay", &self.weight_decay, Domain::NonNegative);
        let decayed = &x + cx.params() * decay;
        match &self.mask {
            Leaves::All => decayed,
            mask => cx.choose(mask, &decayed, &x),
        }
    }
}
