//! Adamax.

use crate::aggregated::{ScaleByAdamax, scale_by_adamax, scale_by_learning_rate};
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
    name: "adamax",
    family: Family::Alias,
    summary: "batch_mean, scale_by_adamax, scale_by_learning_rate",
    reference: "Kingma and Ba, 2014, arXiv 1412.6980",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
    ],
    build: |args| {
        let mut link = adamax(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Adamax. Built by [`adamax`].
#[derive(Clone, Debug)]
pub struct Adamax {
    learning_rate: Hyper,
    preconditioner: ScaleByAdamax,
}

/// Adamax: [`scale_by_adamax`](crate::scale_by_adamax) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_adamax(), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-8.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adamax(0.1)).is_ok());
/// ```
///
/// # Reference
/// Kingma, Ba, 2014, arXiv 1412.6980.
pub fn adamax(learning_rate: impl Into<Hyper>) -> Adamax {
    Adamax {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_adamax(),
    }
}

impl Adamax {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// How the largest gradient fades.
        b2 in preconditioner;
        /// A number added to each gradient's size.
        eps in preconditioner;
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.preconditioner.read(args)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Adamax {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
