//! Optimistic Adam.

use crate::aggregated::{
    ScaleByAdam, scale_by_adam, scale_by_learning_rate, scale_by_optimistic_gradient,
};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::error::Error;
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "optimistic_adam_v2",
    family: Family::Alias,
    summary: "batch_mean, scale_by_adam, scale_by_optimistic_gradient, scale_by_learning_rate",
    reference: "Daskalakis et al., 2017, arXiv 1711.00141",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "none"),
        Argument::optional("nesterov", "true"),
        Argument::optional("alpha", "1"),
        Argument::optional("beta", "1"),
    ],
    build: |args| {
        let mut link = optimistic_adam_v2(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Optimistic Adam. Built by [`optimistic_adam_v2`].
#[derive(Clone, Debug)]
pub struct OptimisticAdamV2 {
    learning_rate: Hyper,
    preconditioner: ScaleByAdam,
    alpha: Hyper,
    beta: Hyper,
}

/// Adam whose steps look ahead by the difference to the last one: `chain((batch_mean(), scale_by_adam().nesterov(true),
/// scale_by_optimistic_gradient(), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: alpha 1, beta 1, b1 0.9, b2 0.999, eps 1e-8, nesterov.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&optimistic_adam_v2(0.1)).is_ok());
/// ```
///
/// # Reference
/// Daskalakis et al., 2017, arXiv 1711.00141.
pub fn optimistic_adam_v2(learning_rate: impl Into<Hyper>) -> OptimisticAdamV2 {
    OptimisticAdamV2 {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_adam().nesterov(true),
        alpha: 1.0.into(),
        beta: 1.0.into(),
    }
}

impl OptimisticAdamV2 {
    hyper_setters! {
        /// The weight of Adam's direction.
        alpha;
        /// The weight of its difference to the last one.
        beta;
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
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
        args.set_hyper("alpha", &mut self.alpha)?;
        args.set_hyper("beta", &mut self.beta)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for OptimisticAdamV2 {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let ahead = scale_by_optimistic_gradient()
            .alpha(self.alpha.clone())
            .beta(self.beta.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, ahead, step)), x)
    }
}
