//! Adamax's preconditioner.

use crate::aggregated::ema;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_adamax",
    family: Family::Aggregated,
    summary: "ema(g, b1) / max(|g| + eps, b2 * n)",
    reference: "Kingma and Ba, 2014, arXiv 1412.6980",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
    ],
    build: |args| {
        let mut link = scale_by_adamax();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Adamax's preconditioner. Built by [`scale_by_adamax`].
#[derive(Clone, Debug)]
pub struct ScaleByAdamax {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
}

/// Divides an average of the gradients by the largest of the past, fading: `n <- max(|g| + eps, b2 * n)`, which is not debiased.
/// Defaults: b1 0.9, b2 0.999, eps 1e-8.
///
/// # State
/// An average and a maximum, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1` must be at least 0 and below 1, `b2` from 0 to 1, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_adamax()))).is_ok());
/// ```
///
/// # Reference
/// Kingma, Ba, 2014, arXiv 1412.6980.
pub fn scale_by_adamax() -> ScaleByAdamax {
    ScaleByAdamax {
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
    }
}

impl ScaleByAdamax {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// How the largest gradient fades.
        b2;
        /// A number added to each gradient's size.
        eps;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAdamax {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Share);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let first = cx.apply(&ema(self.b1.or_named("b1")), x.clone());
        let largest = cx.state::<Leaf>("largest", 0.0, |n| (n * b2).max(x.abs() + eps));
        first.div_or_zero(largest).as_input()
    }
}
