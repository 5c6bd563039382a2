//! Adamax with decoupled weight decay.

use crate::aggregated::{
    ScaleByAdamax, add_decayed_weights, scale_by_adamax, scale_by_learning_rate,
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
    name: "adamaxw",
    family: Family::Alias,
    summary: "batch_mean, scale_by_adamax, add_decayed_weights, scale_by_learning_rate",
    reference: "Kingma and Ba, 2014, arXiv 1412.6980",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("weight_decay", "1e-4"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = adamaxw(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Adamax with decoupled weight decay. Built by [`adamaxw`].
#[derive(Clone, Debug)]
pub struct Adamaxw {
    learning_rate: Hyper,
    preconditioner: ScaleByAdamax,
    weight_decay: Hyper,
    mask: Leaves,
}

/// Adamax with decoupled weight decay: [`scale_by_adamax`](crate::scale_by_adamax) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_adamax(), add_decayed_weights(weight_decay), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-8, weight decay 1e-4.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adamaxw(0.1)).is_ok());
/// ```
///
/// # Reference
/// Kingma, Ba, 2014, arXiv 1412.6980.
pub fn adamaxw(learning_rate: impl Into<Hyper>) -> Adamaxw {
    Adamaxw {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_adamax(),
        weight_decay: 1e-4.into(),
        mask: Leaves::All,
    }
}

impl Adamaxw {
    hyper_setters! {
        /// The share of the parameters added to the update before the learning rate.
        weight_decay;
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// How the largest gradient fades.
        b2 in preconditioner;
        /// A number added to each gradient's size.
        eps in preconditioner;
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
        args.set_hyper("weight_decay", &mut self.weight_decay)?;
        if let Some(mask) = args.leaves("mask")? {
            self.mask = mask;
        }
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Adamaxw {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = add_decayed_weights(self.weight_decay.or_named("weight_decay"));
        let decay = decay.mask(self.mask.clone());
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, decay, step)), x)
    }
}
