//! Adagrad.

use crate::aggregated::{ScaleByRss, scale_by_learning_rate, scale_by_rss};
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
    name: "adagrad",
    family: Family::Alias,
    summary: "batch_mean, scale_by_rss, scale_by_learning_rate",
    reference: "Duchi et al., 2011, JMLR 12",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("initial_accumulator_value", "0.1"),
        Argument::optional("eps", "1e-7"),
    ],
    build: |args| {
        let mut link = adagrad(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Adagrad. Built by [`adagrad`].
#[derive(Clone, Debug)]
pub struct Adagrad {
    learning_rate: Hyper,
    preconditioner: ScaleByRss,
}

/// Adagrad: [`scale_by_rss`](crate::scale_by_rss) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_rss(), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: the sum begins with 0.1, eps 1e-7.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adagrad(0.1)).is_ok());
/// ```
///
/// # Reference
/// Duchi et al., 2011, JMLR 12.
pub fn adagrad(learning_rate: impl Into<Hyper>) -> Adagrad {
    Adagrad {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_rss(),
    }
}

impl Adagrad {
    hyper_setters! {
        /// A number added under the root.
        eps in preconditioner;
    }

    /// What the sum of the squares is before the first step.
    #[must_use]
    pub fn initial_accumulator_value(mut self, initial_accumulator_value: f64) -> Self {
        self.preconditioner = self
            .preconditioner
            .initial_accumulator_value(initial_accumulator_value);
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.preconditioner.read(args)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Adagrad {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
