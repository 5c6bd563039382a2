//! AMSGrad's preconditioner.

use super::moments::debiased;
use crate::aggregated::{ema, running_max};
use crate::axis::ExamplesReduced;
use crate::combine::chain;
use crate::elementwise::square;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_amsgrad",
    family: Family::Aggregated,
    summary: "ema(g, b1) / (sqrt(max over the steps of ema(g^2, b2) + eps_root) + eps)",
    reference: "Reddi et al., 2018, arXiv 1904.09237",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("bias_correction_mu", "true"),
        Argument::optional("bias_correction_nu", "true"),
        Argument::optional("max_of_raw", "false"),
    ],
    build: |args| {
        let mut link = scale_by_amsgrad();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// AMSGrad's preconditioner. Built by [`scale_by_amsgrad`].
#[derive(Clone, Debug)]
pub struct ScaleByAmsgrad {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
    bias_correction_mu: bool,
    bias_correction_nu: bool,
    max_of_raw: bool,
}

/// Adam whose denominator never falls: `ratio(ema(b1), chain((square(), ema(b2), running_max(), sqrt())), eps)`.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-8 outside the root, and the largest of the *debiased* averages. PyTorch and burn
/// take the largest of the raw ones and debias it (`max_of_raw`): for the gradients 10, 0.1, 0.1 and a rate of 0.1 the updates are
/// -0.1, -0.0479, -0.0306 by default, and -0.1, -0.0677, -0.0530 so.
///
/// # State
/// Two averages and a maximum, in the shape of the parameters.
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
/// assert!(program(&chain((mean(), scale_by_amsgrad()))).is_ok());
/// ```
///
/// # Reference
/// Reddi et al., 2018, arXiv 1904.09237.
pub fn scale_by_amsgrad() -> ScaleByAmsgrad {
    ScaleByAmsgrad {
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
        eps_root: 0.0.into(),
        bias_correction_mu: true,
        bias_correction_nu: true,
        max_of_raw: false,
    }
}

impl ScaleByAmsgrad {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// A number added to the root.
        eps;
        /// A number added under the root.
        eps_root;
    }

    /// Whether the average of the gradients is debiased.
    #[must_use]
    pub fn bias_correction_mu(mut self, bias_correction_mu: bool) -> Self {
        self.bias_correction_mu = bias_correction_mu;
        self
    }

    /// Whether the average of the squares is debiased, before the largest is taken.
    #[must_use]
    pub fn bias_correction_nu(mut self, bias_correction_nu: bool) -> Self {
        self.bias_correction_nu = bias_correction_nu;
        self
    }

    /// Whether the largest is taken of the raw averages, and debiased afterwards (PyTorch).
    #[must_use]
    pub fn max_of_raw(mut self, max_of_raw: bool) -> Self {
        self.max_of_raw = max_of_raw;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        self.bias_correction_mu = args
            .flag("bias_correction_mu")?
            .unwrap_or(self.bias_correction_mu);
        self.bias_correction_nu = args
            .flag("bias_correction_nu")?
            .unwrap_or(self.bias_correction_nu);
        self.max_of_raw = args.flag("max_of_raw")?.unwrap_or(self.max_of_raw);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAmsgrad {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let eps_root = cx.hyper(
            "eps_root",
            &self.eps_root.or_named("eps_root"),
            Domain::NonNegative,
        );
        let first = ema(self.b1.or_named("b1")).debias(self.bias_correction_mu);
        let second = ema(self.b2.or_named("b2"));
        let first = cx.apply(&first, x.clone());
        let largest = if self.max_of_raw && self.bias_correction_nu {
            let raw = chain((square(), second.debias(false), running_max()));
            let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Decay);
            let largest = cx.apply(&raw, x);
            debiased(cx, &largest, &b2)
        } else {
            let second = second.debias(self.bias_correction_nu);
            cx.apply(&chain((square(), second, running_max())), x)
        };
        first
            .div_or_zero((largest + eps_root).sqrt() + eps)
            .as_input()
    }
}
