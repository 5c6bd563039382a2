//! RAdam.

use crate::aggregated::{ScaleByRadam, scale_by_learning_rate, scale_by_radam};
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
    name: "radam",
    family: Family::Alias,
    summary: "batch_mean, scale_by_radam, scale_by_learning_rate",
    reference: "Liu et al., 2019, arXiv 1908.03265",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("threshold", "5"),
        Argument::optional("nesterov", "false"),
    ],
    build: |args| {
        let mut link = radam(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// RAdam. Built by [`radam`].
#[derive(Clone, Debug)]
pub struct Radam {
    learning_rate: Hyper,
    preconditioner: ScaleByRadam,
}

/// RAdam: [`scale_by_radam`](crate::scale_by_radam) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_radam(), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-8, eps_root 0, threshold 5.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&radam(0.1)).is_ok());
/// ```
///
/// # Reference
/// Liu et al., 2019, arXiv 1908.03265.
pub fn radam(learning_rate: impl Into<Hyper>) -> Radam {
    Radam {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_radam(),
    }
}

impl Radam {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1 in preconditioner;
        /// The decay of the average of the squares.
        b2 in preconditioner;
        /// A number added to the root.
        eps in preconditioner;
        /// A number added under the root.
        eps_root in preconditioner;
        /// From which length of the average on its variance is taken for tractable.
        threshold in preconditioner;
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
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Radam {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
