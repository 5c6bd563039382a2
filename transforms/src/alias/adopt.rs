//! ADOPT.

use crate::aggregated::{ScaleByAdopt, scale_by_adopt, scale_by_learning_rate};
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
    name: "adopt",
    family: Family::Alias,
    summary: "batch_mean, scale_by_adopt, scale_by_learning_rate",
    reference: "Taniguchi et al., 2024, arXiv 2411.02853",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.9999"),
        Argument::optional("eps", "1e-6"),
        Argument::optional("nesterov", "false"),
        Argument::optional("use_clipping", "true"),
    ],
    build: |args| {
        let mut link = adopt(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// ADOPT. Built by [`adopt`].
#[derive(Clone, Debug)]
pub struct Adopt {
    learning_rate: Hyper,
    preconditioner: ScaleByAdopt,
}

/// ADOPT: [`scale_by_adopt`](crate::scale_by_adopt) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_adopt(), scale_by_learning_rate(learning_rate)))`.
///
/// The first step moves nothing.
///
/// Defaults are optax's: b1 0.9, b2 0.9999, eps 1e-6, with clipping.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adopt(0.1)).is_ok());
/// ```
///
/// # Reference
/// Taniguchi et al., 2024, arXiv 2411.02853.
pub fn adopt(learning_rate: impl Into<Hyper>) -> Adopt {
    Adopt {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_adopt(),
    }
}

impl Adopt {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// The smallest root.
        eps in preconditioner;
    }

    /// Whether the average looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.preconditioner = self.preconditioner.nesterov(nesterov);
        self
    }

    /// Whether each element is clipped to the fourth root of the number of steps before.
    #[must_use]
    pub fn use_clipping(mut self, use_clipping: bool) -> Self {
        self.preconditioner = self.preconditioner.use_clipping(use_clipping);
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.preconditioner.read(args)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Adopt {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
