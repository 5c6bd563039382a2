//! Adam.

use crate::aggregated::{ScaleByAdam, scale_by_adam, scale_by_learning_rate};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "adam",
    family: Family::Alias,
    summary: "batch_mean, scale_by_adam, scale_by_learning_rate",
    reference: "Kingma and Ba, 2014, arXiv 1412.6980",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("nesterov", "false"),
    ],
    build: |args| {
        let mut link = adam(args.hyper("learning_rate")?);
        link.preconditioner.read(args)?;
        Ok(Link::both(link))
    },
};

/// The same with a look ahead.
pub(crate) const NADAM: Entry = Entry {
    name: "nadam",
    reference: "Dozat, 2016, ICLR workshop",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("nesterov", "true"),
    ],
    build: |args| {
        let mut link = nadam(args.hyper("learning_rate")?);
        link.preconditioner.read(args)?;
        Ok(Link::both(link))
    },
    ..ENTRY
};

/// Adam. Built by [`adam`].
#[derive(Clone, Debug)]
pub struct Adam {
    learning_rate: Hyper,
    preconditioner: ScaleByAdam,
}

/// Adam on the mean gradient: `chain((batch_mean(), scale_by_adam(), scale_by_learning_rate(learning_rate)))`.
///
/// Its second moment follows the square of the mean gradient. [`micro_adam`](crate::micro_adam) follows the mean of the
/// squares instead. Defaults are optax's: b1 0.9, b2 0.999, eps 1e-8; burn's own Adam has eps 1e-5.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adam(1e-3).b2(0.99)).is_ok());
/// ```
///
/// # Reference
/// Kingma, Ba, 2014, arXiv 1412.6980, algorithm 1.
pub fn adam(learning_rate: impl Into<Hyper>) -> Adam {
    Adam {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_adam(),
    }
}

/// [`adam`] whose average of the gradients looks one step ahead: `adam(learning_rate).nesterov(true)`.
///
/// # Reference
/// Dozat, 2016, ICLR workshop; without its further factor b2, as in optax.
pub fn nadam(learning_rate: impl Into<Hyper>) -> Adam {
    let link = adam(learning_rate);
    Adam {
        preconditioner: link.preconditioner.nesterov(true),
        ..link
    }
}

impl Adam {
    hyper_setters! {
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

    /// Whether the average of the gradients looks one step ahead (Nadam).
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.preconditioner = self.preconditioner.nesterov(nesterov);
        self
    }
}

impl<In: Axis> Transform<In> for Adam {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
