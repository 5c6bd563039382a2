//! Simplified AdEMAMix.

use crate::aggregated::{
    ScaleBySimplifiedAdemamix, add_decayed_weights, scale_by_learning_rate,
    scale_by_simplified_ademamix,
};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::error::Error;
use crate::hyper::{Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "simplified_ademamix",
    family: Family::Alias,
    summary: "batch_mean, scale_by_simplified_ademamix, [add_decayed_weights,] scale_by_learning_rate",
    reference: "Morwani et al., 2025, arXiv 2502.02431",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.99"),
        Argument::optional("b2", "0.95"),
        Argument::optional("alpha", "0"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = simplified_ademamix(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Simplified AdEMAMix. Built by [`simplified_ademamix`].
#[derive(Clone, Debug)]
pub struct SimplifiedAdemamix {
    learning_rate: Hyper,
    preconditioner: ScaleBySimplifiedAdemamix,
    weight_decay: Option<Hyper>,
    mask: Leaves,
}

/// Simplified AdEMAMix: [`scale_by_simplified_ademamix`](crate::scale_by_simplified_ademamix) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_simplified_ademamix(), scale_by_learning_rate(learning_rate)))`, and [`add_decayed_weights`](crate::add_decayed_weights) before the learning rate if `weight_decay` is set.
///
/// Defaults are optax's: b1 0.99, b2 0.95, alpha 0, eps 1e-8.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&simplified_ademamix(0.1)).is_ok());
/// ```
///
/// # Reference
/// Morwani et al., 2025, arXiv 2502.02431.
pub fn simplified_ademamix(learning_rate: impl Into<Hyper>) -> SimplifiedAdemamix {
    SimplifiedAdemamix {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_simplified_ademamix(),
        weight_decay: None,
        mask: Leaves::All,
    }
}

impl SimplifiedAdemamix {
    hyper_setters! {
        /// The decay of the sum of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// The weight of the gradient beside the sum.
        alpha in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
        /// A number added under the root.
        eps_root in preconditioner;
    }

    /// The share of the parameters added to the update before the learning rate; none unless set.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: impl Into<Hyper>) -> Self {
        self.weight_decay = Some(weight_decay.into());
        self
    }

    /// The leaves that decay; all unless set.
    #[must_use]
    pub fn mask(mut self, mask: Leaves) -> Self {
        self.mask = mask;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.preconditioner.read(args)?;
        if let Some(weight_decay) = args.optional_hyper("weight_decay")? {
            self.weight_decay = Some(weight_decay);
        }
        if let Some(mask) = args.leaves("mask")? {
            self.mask = mask;
        }
        Ok(())
    }
}

impl<In: Axis> Transform<In> for SimplifiedAdemamix {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, decay, step)), x)
    }
}
