//! Adadelta's preconditioner.

use super::moments::average;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_adadelta",
    family: Family::Aggregated,
    summary: "g * sqrt(ema(u^2) + eps) / sqrt(ema(g^2) + eps)",
    reference: "Zeiler, 2012, arXiv 1212.5701",
    arguments: &[
        Argument::optional("rho", "0.9"),
        Argument::optional("eps", "1e-6"),
    ],
    build: |args| {
        let mut link = scale_by_adadelta();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Adadelta's preconditioner. Built by [`scale_by_adadelta`].
#[derive(Clone, Debug)]
pub struct ScaleByAdadelta {
    pub(crate) rho: Hyper,
    pub(crate) eps: Hyper,
}

/// Multiplies the gradient by the root mean square of its own past results, over that of the gradients: the updates have the units
/// of the parameters. Defaults: rho 0.9, eps 1e-6. Neither average is debiased.
///
/// # State
/// Two averages of squares, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
/// | eps 0 | zeros for ever, as the average of the results begins with 0 |
///
/// # Errors
/// `rho` must be at least 0 and below 1, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_adadelta()))).is_ok());
/// ```
///
/// # Reference
/// Zeiler, 2012, arXiv 1212.5701.
pub fn scale_by_adadelta() -> ScaleByAdadelta {
    ScaleByAdadelta {
        rho: 0.9.into(),
        eps: 1e-6.into(),
    }
}

impl ScaleByAdadelta {
    hyper_setters! {
        /// The decay of both averages.
        rho;
        /// A number added under both roots.
        eps;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("rho", &mut self.rho)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAdadelta {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let rho = cx.hyper("rho", &self.rho.or_named("rho"), Domain::Decay);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let squares = average(cx, "squares", &rho, &x.square());
        let results = cx.slot::<Leaf>("results", 0.0);
        let before = (results.before() + &eps).sqrt();
        let update = before.div_or_zero((squares + eps).sqrt()) * x;
        let next = results.before() * &rho + update.square() * (1.0 - rho);
        cx.set(results, &next);
        update.as_input()
    }
}
