//! Adam with decoupled weight decay.

use crate::aggregated::{ScaleByAdam, add_decayed_weights, scale_by_adam, scale_by_learning_rate};
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
    name: "adamw",
    family: Family::Alias,
    summary: "batch_mean, scale_by_adam, add_decayed_weights, scale_by_learning_rate",
    reference: "Loshchilov and Hutter, 2017, arXiv 1711.05101",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("nesterov", "false"),
        Argument::optional("weight_decay", "1e-4"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = adamw(args.hyper("learning_rate")?);
        link.preconditioner.read(args)?;
        args.set_hyper("weight_decay", &mut link.weight_decay)?;
        let mask = args.leaves("mask")?.unwrap_or(Leaves::All);
        Ok(Link::both(link.mask(mask)))
    },
};

/// The same with a look ahead.
pub(crate) const NADAMW: Entry = Entry {
    name: "nadamw",
    reference: "Dozat, 2016, ICLR workshop",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("nesterov", "true"),
        Argument::optional("weight_decay", "1e-4"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = nadamw(args.hyper("learning_rate")?);
        link.preconditioner.read(args)?;
        args.set_hyper("weight_decay", &mut link.weight_decay)?;
        if let Some(mask) = args.leaves("mask")? {
            link = link.mask(mask);
        }
        Ok(Link::both(link))
    },
    ..ENTRY
};

/// Adam with decoupled weight decay. Built by [`adamw`].
#[derive(Clone, Debug)]
pub struct Adamw {
    learning_rate: Hyper,
    preconditioner: ScaleByAdam,
    weight_decay: Hyper,
    mask: Leaves,
}

/// Adam with decoupled weight decay: [`adam`](crate::adam) with [`add_decayed_weights`](crate::add_decayed_weights)
/// before the learning rate, so the parameters shrink by `learning_rate * weight_decay` of themselves.
///
/// Defaults are optax's: weight decay 1e-4, b1 0.9, b2 0.999, eps 1e-8.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let optimizer = adamw(1e-3).weight_decay(0.01).mask(Leaves::RankAtLeast(2));
/// assert!(optimizer_program(&optimizer).is_ok());
/// ```
///
/// # Reference
/// Loshchilov, Hutter, 2017, arXiv 1711.05101, algorithm 2.
pub fn adamw(learning_rate: impl Into<Hyper>) -> Adamw {
    Adamw {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_adam(),
        weight_decay: 1e-4.into(),
        mask: Leaves::All,
    }
}

/// [`adamw`] whose average of the gradients looks one step ahead: `adamw(learning_rate).nesterov(true)`.
///
/// # Reference
/// Dozat, 2016, ICLR workshop; without its further factor b2, as in optax.
pub fn nadamw(learning_rate: impl Into<Hyper>) -> Adamw {
    let link = adamw(learning_rate);
    Adamw {
        preconditioner: link.preconditioner.nesterov(true),
        ..link
    }
}

impl Adamw {
    hyper_setters! {
        /// The share of the parameters added to the update before the learning rate.
        weight_decay;
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
    }

    /// Replaces the preconditioner: `adamw(1e-3).preconditioner(scale_by_adam().b2(0.99))`.
    #[must_use]
    pub fn preconditioner(mut self, preconditioner: ScaleByAdam) -> Self {
        self.preconditioner = preconditioner;
        self
    }

    /// The leaves that decay; all unless set.
    #[must_use]
    pub fn mask(mut self, mask: Leaves) -> Self {
        self.mask = mask;
        self
    }
}

impl<In: Axis> Transform<In> for Adamw {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = add_decayed_weights(self.weight_decay.or_named("weight_decay"));
        let decay = decay.mask(self.mask.clone());
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, decay, step)), x)
    }
}
