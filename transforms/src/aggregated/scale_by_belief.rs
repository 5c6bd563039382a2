//! AdaBelief's preconditioner.

use super::moments::{average, debiased, direction};
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_belief",
    family: Family::Aggregated,
    summary: "ema(g, b1) / (sqrt(ema((g - m)^2, b2)) + eps)",
    reference: "Zhuang et al., 2020, arXiv 2010.07468",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-16"),
        Argument::optional("eps_root", "1e-16"),
        Argument::optional("nesterov", "false"),
    ],
    build: |args| {
        let mut link = scale_by_belief();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// AdaBelief's preconditioner. Built by [`scale_by_belief`].
#[derive(Clone, Debug)]
pub struct ScaleByBelief {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
    nesterov: bool,
}

/// Divides an average of the gradients by the root of an average of the squared surprises `(g - m)^2`, where `m` is the raw average
/// after this step. Both are debiased; `eps_root` is added into the *stored* average at each step.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-16, eps_root 1e-16.
///
/// # State
/// Two averages, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1` and `b2` must be at least 0 and below 1, `eps` and `eps_root` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_belief()))).is_ok());
/// ```
///
/// # Reference
/// Zhuang et al., 2020, arXiv 2010.07468.
pub fn scale_by_belief() -> ScaleByBelief {
    ScaleByBelief {
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-16.into(),
        eps_root: 1e-16.into(),
        nesterov: false,
    }
}

impl ScaleByBelief {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squared surprises.
        b2;
        /// A number added to the root.
        eps;
        /// A number added to the stored average at each step.
        eps_root;
    }

    /// Whether the average of the gradients looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByBelief {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b1 = cx.hyper("b1", &self.b1.or_named("b1"), Domain::Decay);
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Decay);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let eps_root = cx.hyper(
            "eps_root",
            &self.eps_root.or_named("eps_root"),
            Domain::NonNegative,
        );
        let first = average(cx, "first", &b1, &x);
        let surprise = (&x - &first).square() * (1.0 - &b2) + eps_root;
        let second = cx.state("second", 0.0, |v| v * &b2 + surprise);
        let root = debiased(cx, &second, &b2).sqrt() + eps;
        let step = direction(cx, &first, &b1, &x, self.nesterov);
        step.div_or_zero(root).as_input()
    }
}
