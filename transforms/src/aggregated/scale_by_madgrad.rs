//! MADGRAD.

use super::moments::start;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_madgrad",
    family: Family::Aggregated,
    summary: "(1 - momentum) * (p_0 - s / (cbrt(v) + eps) - p); s and v sum g and g^2, weighted by learning_rate * sqrt(t)",
    reference: "Defazio and Jelassi, 2021, arXiv 2101.11075",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("momentum", "0.9"),
        Argument::optional("eps", "1e-6"),
    ],
    build: |args| {
        let mut link = scale_by_madgrad(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// MADGRAD. Built by [`scale_by_madgrad`].
#[derive(Clone, Debug)]
pub struct ScaleByMadgrad {
    pub(crate) learning_rate: Hyper,
    pub(crate) momentum: Hyper,
    pub(crate) eps: Hyper,
}

/// Dual averaging: weighted sums `s` of the gradients and `v` of their squares lead from the *first* parameters to
/// `z = p_0 - s / (cbrt(v) + eps)`, and the parameters go a share `1 - momentum` of the way there. The weight of step t is
/// `(learning_rate + eps) * sqrt(t)`.
///
/// The result is the whole update, with its sign: no learning rate comes after it. Defaults: momentum 0.9, eps 1e-6.
///
/// # State
/// The first parameters and two sums, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros from the first step | zeros, also for eps 0 |
///
/// # Errors
/// `momentum` must be from 0 to 1, the others finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_madgrad(0.1)))).is_ok());
/// ```
///
/// # Reference
/// Defazio, Jelassi, 2021, arXiv 2101.11075.
pub fn scale_by_madgrad(learning_rate: impl Into<Hyper>) -> ScaleByMadgrad {
    ScaleByMadgrad {
        learning_rate: learning_rate.into(),
        momentum: 0.9.into(),
        eps: 1e-6.into(),
    }
}

impl ScaleByMadgrad {
    hyper_setters! {
        /// The share of the parameters that stays.
        momentum;
        /// A number added to the cube root, and to the rate.
        eps;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("momentum", &mut self.momentum)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByMadgrad {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let learning_rate = cx.hyper(
            "learning_rate",
            &self.learning_rate.or_named("learning_rate"),
            Domain::NonNegative,
        );
        let momentum = cx.hyper(
            "momentum",
            &self.momentum.or_named("momentum"),
            Domain::Share,
        );
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let weight = (learning_rate + &eps) * (cx.step() + 1.0).sqrt();
        let squares = cx.state::<Leaf>("squares", 0.0, |sum| sum + x.square() * &weight);
        let sum = cx.state::<Leaf>("sum", 0.0, |sum| sum + x * weight);
        let root = squares.pow(1.0 / 3.0) + eps;
        let aim = start(cx) - sum.div_or_zero(root);
        ((aim - cx.params()) * (1.0 - momentum)).as_input()
    }
}
