//! NovoGrad.

use crate::aggregated::{ScaleByNovograd, scale_by_learning_rate, scale_by_novograd};
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
    name: "novograd",
    family: Family::Alias,
    summary: "batch_mean, scale_by_novograd, scale_by_learning_rate",
    reference: "Ginsburg et al., 2019, arXiv 1905.11286",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.25"),
        Argument::optional("eps", "1e-6"),
        Argument::optional("eps_root", "0"),
        Argument::optional("weight_decay", "0"),
    ],
    build: |args| {
        let mut link = novograd(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// NovoGrad. Built by [`novograd`].
#[derive(Clone, Debug)]
pub struct Novograd {
    learning_rate: Hyper,
    preconditioner: ScaleByNovograd,
}

/// NovoGrad: [`scale_by_novograd`](crate::scale_by_novograd) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_novograd(), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: b1 0.9, b2 0.25, eps 1e-6, eps_root 0, weight decay 0.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&novograd(0.1)).is_ok());
/// ```
///
/// # Reference
/// Ginsburg et al., 2019, arXiv 1905.11286.
pub fn novograd(learning_rate: impl Into<Hyper>) -> Novograd {
    Novograd {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_novograd().eps(1e-6),
    }
}

impl Novograd {
    hyper_setters! {
        /// The decay of the sum of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squared norms.
        b2 in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
        /// A number added under the root.
        eps_root in preconditioner;
        /// The share of the parameters added to each normalized gradient.
        weight_decay in preconditioner;
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.preconditioner.read(args)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Novograd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
