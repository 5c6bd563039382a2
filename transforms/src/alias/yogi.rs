//! Yogi.

use crate::aggregated::{ScaleByYogi, scale_by_learning_rate, scale_by_yogi};
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
    name: "yogi",
    family: Family::Alias,
    summary: "batch_mean, scale_by_yogi, scale_by_learning_rate",
    reference: "Zaheer et al., 2018, NeurIPS",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-3"),
        Argument::optional("eps_root", "0"),
        Argument::optional("initial_accumulator_value", "1e-6"),
    ],
    build: |args| {
        let mut link = yogi(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Yogi. Built by [`yogi`].
#[derive(Clone, Debug)]
pub struct Yogi {
    learning_rate: Hyper,
    preconditioner: ScaleByYogi,
}

/// Yogi: [`scale_by_yogi`](crate::scale_by_yogi) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_yogi(), scale_by_learning_rate(learning_rate)))`.
///
/// Both averages begin with 1e-6, so zero gradients give small updates in the first steps.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-3.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&yogi(0.1)).is_ok());
/// ```
///
/// # Reference
/// Zaheer et al., 2018, NeurIPS.
pub fn yogi(learning_rate: impl Into<Hyper>) -> Yogi {
    Yogi {
        learning_rate: learning_rate.into(),
        preconditioner: scale_by_yogi(),
    }
}

impl Yogi {
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

    /// What both averages are before the first step.
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

impl<In: Axis> Transform<In> for Yogi {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.preconditioner, step)), x)
    }
}
