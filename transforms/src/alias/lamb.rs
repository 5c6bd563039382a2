//! LAMB.

use crate::aggregated::{
    ScaleByAdam, add_decayed_weights, scale_by_adam, scale_by_learning_rate, scale_by_trust_ratio,
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
    name: "lamb",
    family: Family::Alias,
    summary: "batch_mean, scale_by_adam, [add_decayed_weights,] scale_by_trust_ratio, scale_by_learning_rate",
    reference: "You et al., 2019, arXiv 1904.00962",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-6"),
        Argument::optional("eps_root", "none"),
        Argument::optional("nesterov", "false"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = lamb(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// LAMB. Built by [`lamb`].
#[derive(Clone, Debug)]
pub struct Lamb {
    learning_rate: Hyper,
    preconditioner: ScaleByAdam,
    weight_decay: Option<Hyper>,
    mask: Leaves,
}

/// Adam, each leaf scaled to the size of its parameters: `chain((batch_mean(), scale_by_adam().eps(1e-6), scale_by_trust_ratio(),
/// scale_by_learning_rate(learning_rate)))`, and [`add_decayed_weights`](crate::add_decayed_weights) before the trust ratio if
/// `weight_decay` is set.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-6, eps_root 0.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&lamb(0.1)).is_ok());
/// ```
///
/// # Reference
/// You et al., 2019, arXiv 1904.00962.
pub fn lamb(learning_rate: impl Into<Hyper>) -> Lamb {
    Lamb {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_adam().eps(1e-6),
        weight_decay: None,
        mask: Leaves::All,
    }
}

impl Lamb {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
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

    /// A number added under the root.
    #[must_use]
    pub fn eps_root(mut self, eps_root: impl Into<Hyper>) -> Self {
        self.preconditioner = self.preconditioner.eps_root(eps_root);
        self
    }

    /// Whether the average of the gradients looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.preconditioner = self.preconditioner.nesterov(nesterov);
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

impl<In: Axis> Transform<In> for Lamb {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let ratio = scale_by_trust_ratio();
        cx.apply(
            &chain((batch_mean(), &self.preconditioner, decay, ratio, step)),
            x,
        )
    }
}
