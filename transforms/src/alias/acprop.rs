//! ACProp.

use crate::aggregated::{
    ScaleByAcprop, add_decayed_weights, scale_by_acprop, scale_by_learning_rate,
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
    name: "acprop",
    family: Family::Alias,
    summary: "batch_mean, scale_by_acprop, [add_decayed_weights,] scale_by_learning_rate",
    reference: "Zhuang et al., 2021, arXiv 2110.05454",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-16"),
        Argument::optional("eps_root", "1e-16"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = acprop(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// ACProp. Built by [`acprop`].
#[derive(Clone, Debug)]
pub struct Acprop {
    learning_rate: Hyper,
    preconditioner: ScaleByAcprop,
    weight_decay: Option<Hyper>,
    mask: Leaves,
}

/// ACProp: [`scale_by_acprop`](crate::scale_by_acprop) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_acprop(), scale_by_learning_rate(learning_rate)))`, and [`add_decayed_weights`](crate::add_decayed_weights) before the learning rate if `weight_decay` is set.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-16, eps_root 1e-16.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&acprop(0.1)).is_ok());
/// ```
///
/// # Reference
/// Zhuang et al., 2021, arXiv 2110.05454.
pub fn acprop(learning_rate: impl Into<Hyper>) -> Acprop {
    Acprop {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_acprop(),
        weight_decay: None,
        mask: Leaves::All,
    }
}

impl Acprop {
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

impl<In: Axis> Transform<In> for Acprop {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, decay, step)), x)
    }
}
