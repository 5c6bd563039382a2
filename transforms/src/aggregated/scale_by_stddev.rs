//! The preconditioner of centered RMSProp.

use crate::aggregated::ema;
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
    name: "scale_by_stddev",
    family: Family::Aggregated,
    summary: "g / sqrt(ema(g^2) - ema(g)^2 + eps)",
    reference: "Graves, 2013, arXiv 1308.0850",
    arguments: &[
        Argument::optional("decay", "0.9"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("initial_scale", "0"),
        Argument::optional("eps_in_sqrt", "true"),
        Argument::optional("bias_correction", "false"),
    ],
    build: |args| {
        let mut link = scale_by_stddev();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The preconditioner of centered RMSProp. Built by [`scale_by_stddev`].
#[derive(Clone, Debug)]
pub struct ScaleByStddev {
    pub(crate) decay: Hyper,
    pub(crate) eps: Hyper,
    initial_scale: f64,
    eps_in_sqrt: bool,
    bias_correction: bool,
}

/// Divides the gradient by the standard deviation over the steps: the root of an average of the squares less the square of an
/// average. What rounding leaves below 0 counts as 0.
///
/// Defaults are optax's: decay 0.9, eps 1e-8 under the root, averages that begin with 0 and are not debiased.
///
/// # State
/// Two averages, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
/// | always the same, debiased | its variance is 0 and only eps divides |
///
/// # Errors
/// `decay` must be at least 0 and below 1, `eps` finite and not negative, `initial_scale` finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_stddev()))).is_ok());
/// ```
///
/// # Reference
/// Graves, 2013, arXiv 1308.0850.
pub fn scale_by_stddev() -> ScaleByStddev {
    ScaleByStddev {
        decay: 0.9.into(),
        eps: 1e-8.into(),
        initial_scale: 0.0,
        eps_in_sqrt: true,
        bias_correction: false,
    }
}

impl ScaleByStddev {
    hyper_setters! {
        /// The decay of the averages.
        decay;
        /// A number added under the root, or to it.
        eps;
    }

    /// What the average of the squares is before the first step.
    #[must_use]
    pub fn initial_scale(mut self, initial_scale: f64) -> Self {
        self.initial_scale = initial_scale;
        self
    }

    /// Whether eps stands under the root (optax) or is added to it (PyTorch).
    #[must_use]
    pub fn eps_in_sqrt(mut self, eps_in_sqrt: bool) -> Self {
        self.eps_in_sqrt = eps_in_sqrt;
        self
    }

    /// Whether the averages are divided by `1 - decay^t`.
    #[must_use]
    pub fn bias_correction(mut self, bias_correction: bool) -> Self {
        self.bias_correction = bias_correction;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("decay", &mut self.decay)?;
        args.set_hyper("eps", &mut self.eps)?;
        self.initial_scale = args.number("initial_scale")?.unwrap_or(self.initial_scale);
        self.eps_in_sqrt = args.flag("eps_in_sqrt")?.unwrap_or(self.eps_in_sqrt);
        self.bias_correction = args
            .flag("bias_correction")?
            .unwrap_or(self.bias_correction);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByStddev {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let average = ema(self.decay.or_named("decay")).debias(self.bias_correction);
        let mean = cx.apply(&average, x.clone());
        let squares = chain((square(), average.init(self.initial_scale)));
        let variance = (cx.apply(&squares, x.clone()) - mean.square()).max(0.0);
        let root = if self.eps_in_sqrt {
            (variance + eps).sqrt()
        } else {
            variance.sqrt() + eps
        };
        x.div_or_zero(root).as_input()
    }
}
