//! AMSGrad.

use crate::aggregated::{ScaleByAmsgrad, scale_by_amsgrad, scale_by_learning_rate};
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
    name: "amsgrad",
    family: Family::Alias,
    summary: "batch_mean, scale_by_amsgrad, scale_by_learning_rate",
    reference: "Reddi et al., 2018, arXiv 1904.09237",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("bias_correction_mu", "true"),
        Argument::optional("bias_correction_nu", "true"),
        Argument::optional("max_of_raw", "false"),
    ],
    build: |args| {
        let mut link = amsgrad(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// AMSGrad. Built by [`amsgrad`].
#[derive(Clone, Debug)]
pub struct Amsgrad {
    learning_rate: Hyper,
    preconditioner: ScaleByAmsgrad,
}

/// AMSGrad: [`scale_by_amsgrad`](crate::scale_by_amsgrad) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_amsgrad(), scale_by_learning_rate(learning_rate)))`.
///
/// The largest is taken of debiased averages, as in optax; PyTorch and burn take that of raw ones, see `max_of_raw`.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-8.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&amsgrad(0.1)).is_ok());
/// ```
///
/// # Reference
/// Reddi et al., 2018, arXiv 1904.09237.
pub fn amsgrad(learning_rate: impl Into<Hyper>) -> Amsgrad {
    Amsgrad {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_amsgrad(),
    }
}

impl Amsgrad {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
        /// A number added under the root.
        eps_root in preconditioner;
    }

    /// Whether the average of the gradients is debiased.
    #[must_use]
    pub fn bias_correction_mu(mut self, bias_correction_mu: bool) -> Self {
        self.preconditioner = self.preconditioner.bias_correction_mu(bias_correction_mu);
        self
    }

    /// Whether the average of the squares is debiased, before the largest is taken.
    #[must_use]
    pub fn bias_correction_nu(mut self, bias_correction_nu: bool) -> Self {
        self.preconditioner = self.preconditioner.bias_correction_nu(bias_correction_nu);
        self
    }

    /// Whether the largest is taken of the raw averages, and debiased afterwards (PyTorch).
    #[must_use]
    pub fn max_of_raw(mut self, max_of_raw: bool) -> Self {
        self.preconditioner = self.preconditioner.max_of_raw(max_of_raw);
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.preconditioner.read(args)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Amsgrad {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
