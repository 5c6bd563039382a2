//! AdEMAMix.

use crate::aggregated::{
    ScaleByAdemamix, add_decayed_weights, scale_by_ademamix, scale_by_learning_rate,
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
    name: "ademamix",
    family: Family::Alias,
    summary: "batch_mean, scale_by_ademamix, [add_decayed_weights,] scale_by_learning_rate",
    reference: "Pagliardini et al., 2024, arXiv 2409.03137",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("b3", "0.9999"),
        Argument::optional("alpha", "5"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = ademamix(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// AdEMAMix. Built by [`ademamix`].
#[derive(Clone, Debug)]
pub struct Ademamix {
    learning_rate: Hyper,
    preconditioner: ScaleByAdemamix,
    weight_decay: Option<Hyper>,
    mask: Leaves,
}

/// AdEMAMix: [`scale_by_ademamix`](crate::scale_by_ademamix) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_ademamix(), scale_by_learning_rate(learning_rate)))`, and [`add_decayed_weights`](crate::add_decayed_weights) before the learning rate if `weight_decay` is set.
///
/// Defaults are optax's: b1 0.9, b2 0.999, b3 0.9999, alpha 5, eps 1e-8.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&ademamix(0.1)).is_ok());
/// ```
///
/// # Reference
/// Pagliardini et al., 2024, arXiv 2409.03137.
pub fn ademamix(learning_rate: impl Into<Hyper>) -> Ademamix {
    Ademamix {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_ademamix().alpha(5.0),
        weight_decay: None,
        mask: Leaves::All,
    }
}

impl Ademamix {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// The decay of the slow average.
        b3 in preconditioner;
        /// The weight of the slow average.
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

impl<In: Axis> Transform<In> for Ademamix {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, decay, step)), x)
    }
}
