//! Optimistic gradient descent.

use crate::aggregated::{
    ScaleByOptimisticGradient, scale_by_learning_rate, scale_by_optimistic_gradient,
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
    name: "optimistic_gradient_descent",
    family: Family::Alias,
    summary: "batch_mean, scale_by_optimistic_gradient, scale_by_learning_rate",
    reference: "Mokhtari et al., 2019, arXiv 1901.08511",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("alpha", "1"),
        Argument::optional("beta", "1"),
    ],
    build: |args| {
        let mut link = optimistic_gradient_descent(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Optimistic gradient descent. Built by [`optimistic_gradient_descent`].
#[derive(Clone, Debug)]
pub struct OptimisticGradientDescent {
    learning_rate: Hyper,
    direction: ScaleByOptimisticGradient,
}

/// Optimistic gradient descent: [`scale_by_optimistic_gradient`](crate::scale_by_optimistic_gradient) of the mean gradient, then the learning rate. Its expansion is
/// `chain((batch_mean(), scale_by_optimistic_gradient(), scale_by_learning_rate(learning_rate)))`.
///
/// Defaults are optax's: alpha 1, beta 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&optimistic_gradient_descent(0.1)).is_ok());
/// ```
///
/// # Reference
/// Mokhtari et al., 2019, arXiv 1901.08511.
pub fn optimistic_gradient_descent(learning_rate: impl Into<Hyper>) -> OptimisticGradientDescent {
    OptimisticGradientDescent {
        learning_rate: learning_rate.into(),
        direction: scale_by_optimistic_gradient(),
    }
}

impl OptimisticGradientDescent {
    hyper_setters! {
        /// The weight of the gradient.
        alpha in direction;
        /// The weight of its difference to the last one.
        beta in direction;
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.direction.read(args)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for OptimisticGradientDescent {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), &self.direction, step)), x)
    }
}
