//! NovoGrad's preconditioner.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::PerLeaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_novograd",
    family: Family::Aggregated,
    summary: "m <- b1 * m + g / (sqrt(ema(||g||^2, b2) + eps_root) + eps) + weight_decay * p",
    reference: "Ginsburg et al., 2019, arXiv 1905.11286",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.25"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("weight_decay", "0"),
    ],
    build: |args| {
        let mut link = scale_by_novograd();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// NovoGrad's preconditioner. Built by [`scale_by_novograd`].
#[derive(Clone, Debug)]
pub struct ScaleByNovograd {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
    pub(crate) weight_decay: Hyper,
}

/// Divides each leaf's gradient by the root of an average of its squared norms, one number a leaf, and adds up the results, fading:
/// `m <- b1 * m + g / (sqrt(v + eps_root) + eps) + weight_decay * p`. The average begins with the first squared norm; neither is
/// debiased, nor is the sum dampened.
///
/// Defaults: b1 0.9, b2 0.25, eps 1e-8 (the optimizer [`novograd`](crate::novograd) has 1e-6), eps_root 0, weight_decay 0.
///
/// # State
/// A sum in the shape of the parameters, and a number for each leaf.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1` must be from 0 to 1, `b2` at least 0 and below 1, the others finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_novograd()))).is_ok());
/// ```
///
/// # Reference
/// Ginsburg et al., 2019, arXiv 1905.11286.
pub fn scale_by_novograd() -> ScaleByNovograd {
    ScaleByNovograd {
        b1: 0.9.into(),
        b2: 0.25.into(),
        eps: 1e-8.into(),
        eps_root: 0.0.into(),
        weight_decay: 0.0.into(),
    }
}

impl ScaleByNovograd {
    hyper_setters! {
        /// The decay of the sum of the gradients.
        b1;
        /// The decay of the average of the squared norms.
        b2;
        /// A number added to the root.
        eps;
        /// A number added under the root.
        eps_root;
        /// The share of the parameters added to each normalized gradient.
        weight_decay;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        args.set_hyper("weight_decay", &mut self.weight_decay)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByNovograd {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b1 = cx.hyper("b1", &self.b1.or_named("b1"), Domain::Share);
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Decay);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let eps_root = cx.hyper(
            "eps_root",
            &self.eps_root.or_named("eps_root"),
            Domain::NonNegative,
        );
        let weight_decay = cx.hyper(
            "weight_decay",
            &self.weight_decay.or_named("weight_decay"),
            Domain::NonNegative,
        );
        let square = x.leaf_sq_norm();
        let first_step = cx.step().equal(0.0);
        let norms = cx.state::<PerLeaf>("norms", 0.0, |v| {
            let average = v * &b2 + &square * (1.0 - &b2);
            first_step.select(&square, average)
        });
        let fresh = x.div_or_zero((norms + eps_root).sqrt() + eps) + cx.params() * weight_decay;
        cx.state("sum", 0.0, |sum| sum * b1 + fresh).as_input()
    }
}
