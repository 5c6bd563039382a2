//! AdaBelief.

use crate::aggregated::{
    ScaleByBelief, add_decayed_weights, scale_by_belief, scale_by_learning_rate,
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
    name: "adabelief",
    family: Family::Alias,
    summary: "batch_mean, scale_by_belief, [add_decayed_weights,] scale_by_learning_rate",
    reference: "Zhuang et al., 2020, arXiv 2010.07468",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-16"),
        Argument::optional("eps_root", "1e-16"),
        Argument::optional("nesterov", "false"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("weight_decay_mask", "all"),
    ],
    build: |args| {
        let mut link = adabelief(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// AdaBelief. Built by [`adabelief`].
#[derive(Clone, Debug)]
pub struct Adabelief {
    learning_rate: Hyper,
    preconditioner: ScaleByBelief,
    weight_decay: Option<Hyper>,
    weight_decay_mask: Leaves,
}

/// AdaBelief: [`scale_by_belief`](crate::scale_by_belief) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_belief(), scale_by_learning_rate(learning_rate)))`, and [`add_decayed_weights`](crate::add_decayed_weights) before the learning rate if `weight_decay` is set.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-16, eps_root 1e-16.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adabelief(0.1)).is_ok());
/// ```
///
/// # Reference
/// Zhuang et al., 2020, arXiv 2010.07468.
pub fn adabelief(learning_rate: impl Into<Hyper>) -> Adabelief {
    Adabelief {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_belief(),
        weight_decay: None,
        weight_decay_mask: Leaves::All,
    }
}

impl Adabelief {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squared surprises.
        b2 in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
        /// A number added to the stored average at each step.
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
    pub fn weight_decay_mask(mut self, weight_decay_mask: Leaves) -> Self {
        self.weight_decay_mask = weight_decay_mask;
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
        if let Some(weight_decay_mask) = args.leaves("weight_decay_mask")? {
            self.weight_decay_mask = weight_decay_mask;
        }
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Adabelief {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.weight_decay_mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, decay, step)), x)
    }
}
