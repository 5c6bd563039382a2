//! LARS.

use crate::aggregated::{add_decayed_weights, scale_by_learning_rate, scale_by_trust_ratio, trace};
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
    name: "lars",
    family: Family::Alias,
    summary: "batch_mean, [add_decayed_weights,] scale_by_trust_ratio, scale_by_learning_rate, trace",
    reference: "You et al., 2017, arXiv 1708.03888",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("weight_decay_mask", "all"),
        Argument::optional("trust_coefficient", "0.001"),
        Argument::optional("eps", "0"),
        Argument::optional("trust_ratio_mask", "all"),
        Argument::optional("momentum", "0.9"),
        Argument::optional("nesterov", "false"),
    ],
    build: |args| {
        let mut link = lars(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// LARS. Built by [`lars`].
#[derive(Clone, Debug)]
pub struct Lars {
    learning_rate: Hyper,
    weight_decay: Option<Hyper>,
    weight_decay_mask: Leaves,
    trust_coefficient: Hyper,
    eps: Hyper,
    trust_ratio_mask: Leaves,
    momentum: Hyper,
    nesterov: bool,
}

/// SGD, each leaf scaled to the size of its parameters, with momentum *after* the learning rate: `chain((batch_mean(),
/// scale_by_trust_ratio().trust_coefficient(0.001), scale_by_learning_rate(learning_rate), trace(momentum)))`, and
/// [`add_decayed_weights`](crate::add_decayed_weights) after the mean if `weight_decay` is set.
///
/// Defaults are optax's: trust_coefficient 0.001, eps 0, momentum 0.9.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&lars(0.1)).is_ok());
/// ```
///
/// # Reference
/// You et al., 2017, arXiv 1708.03888.
pub fn lars(learning_rate: impl Into<Hyper>) -> Lars {
    Lars {
        learning_rate: learning_rate.into(),
        weight_decay: None,
        weight_decay_mask: Leaves::All,
        trust_coefficient: 0.001.into(),
        eps: 0.0.into(),
        trust_ratio_mask: Leaves::All,
        momentum: 0.9.into(),
        nesterov: false,
    }
}

impl Lars {
    hyper_setters! {
        /// The factor of the trust ratio.
        trust_coefficient;
        /// A number added to the norm of the gradient.
        eps;
        /// The decay of the momentum.
        momentum;
    }

    /// The share of the parameters added to the gradients; none unless set.
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

    /// The leaves that are scaled by the trust ratio; all unless set.
    #[must_use]
    pub fn trust_ratio_mask(mut self, trust_ratio_mask: Leaves) -> Self {
        self.trust_ratio_mask = trust_ratio_mask;
        self
    }

    /// Whether the momentum looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        if let Some(weight_decay) = args.optional_hyper("weight_decay")? {
            self.weight_decay = Some(weight_decay);
        }
        if let Some(weight_decay_mask) = args.leaves("weight_decay_mask")? {
            self.weight_decay_mask = weight_decay_mask;
        }
        args.set_hyper("trust_coefficient", &mut self.trust_coefficient)?;
        args.set_hyper("eps", &mut self.eps)?;
        if let Some(trust_ratio_mask) = args.leaves("trust_ratio_mask")? {
            self.trust_ratio_mask = trust_ratio_mask;
        }
        args.set_hyper("momentum", &mut self.momentum)?;
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Lars {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.weight_decay_mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let ratio = scale_by_trust_ratio()
            .trust_coefficient(self.trust_coefficient.clone())
            .eps(self.eps.clone())
            .mask(self.trust_ratio_mask.clone());
        let momentum = trace(self.momentum.or_named("momentum")).nesterov(self.nesterov);
        cx.apply(&chain((batch_mean(), decay, ratio, step, momentum)), x)
    }
}
