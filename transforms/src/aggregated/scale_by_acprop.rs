//! ACProp's preconditioner.

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
    name: "scale_by_acprop",
    family: Family::Aggregated,
    summary: "g / (sqrt(last ema((g - m)^2, b2)) + eps)",
    reference: "Zhuang et al., 2021, arXiv 2110.05454",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-16"),
        Argument::optional("eps_root", "1e-16"),
    ],
    build: |args| {
        let mut link = scale_by_acprop();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// ACProp's preconditioner. Built by [`scale_by_acprop`].
#[derive(Clone, Debug)]
pub struct ScaleByAcprop {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
}

/// Divides the gradient itself by AdaBelief's denominator of the step before; the first gradient passes as it is. The surprise is
/// `g - m` with the average *after* the step, as in the paper; optax 0.2.8 takes the one before it.
///
/// Defaults: b1 0.9, b2 0.999, eps 1e-16, eps_root 1e-16, which is added into the *stored* average at each step.
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
/// assert!(program(&chain((mean(), scale_by_acprop()))).is_ok());
/// ```
///
/// # Reference
/// Zhuang et al., 2021, arXiv 2110.05454.
pub fn scale_by_acprop() -> ScaleByAcprop {
    ScaleByAcprop {
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-16.into(),
        eps_root: 1e-16.into(),
    }
}

impl ScaleByAcprop {
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

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAcprop {
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
        let mean = average(cx, "first", &b1, &x);
        let second = cx.slot::<Leaf>("second", 0.0);
        let before = second.before() / (1.0 - b2.pow(cx.step()));
        let before = cx.step().equal(0.0).select(1.0, before);
        let surprise = (&x - mean).square() * (1.0 - &b2) + eps_root;
        let next = second.before() * b2 + surprise;
        cx.set(second, &next);
        x.div_or_zero(before.sqrt() + eps).as_input()
    }
}
