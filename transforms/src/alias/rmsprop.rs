//! RMSProp.

use crate::aggregated::{scale_by_learning_rate, scale_by_rms, scale_by_stddev, trace};
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
    name: "rmsprop",
    family: Family::Alias,
    summary: "batch_mean, scale_by_rms or scale_by_stddev, scale_by_learning_rate, [trace]",
    reference: "Tieleman and Hinton, 2012, Coursera lecture 6.5; Graves, 2013, arXiv 1308.0850",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("decay", "0.9"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("initial_scale", "0"),
        Argument::optional("eps_in_sqrt", "true"),
        Argument::optional("centered", "false"),
        Argument::optional("momentum", "none"),
        Argument::optional("nesterov", "false"),
        Argument::optional("bias_correction", "false"),
    ],
    build: |args| {
        let mut link = rmsprop(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// RMSProp. Built by [`rmsprop`].
#[derive(Clone, Debug)]
pub struct Rmsprop {
    learning_rate: Hyper,
    decay: Hyper,
    eps: Hyper,
    initial_scale: f64,
    eps_in_sqrt: bool,
    centered: bool,
    momentum: Option<Hyper>,
    nesterov: bool,
    bias_correction: bool,
}

/// RMSProp on the mean gradient: `chain((batch_mean(), scale_by_rms(), scale_by_learning_rate(learning_rate)))`, and
/// [`trace`](crate::trace) *after* the learning rate if `momentum` is set; [`scale_by_stddev`](crate::scale_by_stddev) instead of
/// [`scale_by_rms`](crate::scale_by_rms) if `centered`.
///
/// Defaults are optax's: decay 0.9, eps 1e-8 *under* the root, no debiasing. PyTorch's eps is outside the root.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&rmsprop(0.1)).is_ok());
/// ```
///
/// # Reference
/// Tieleman, Hinton, 2012, Coursera lecture 6.5; Graves, 2013, arXiv 1308.0850.
pub fn rmsprop(learning_rate: impl Into<Hyper>) -> Rmsprop {
    Rmsprop {
        learning_rate: learning_rate.into(),
        decay: 0.9.into(),
        eps: 1e-8.into(),
        initial_scale: 0.0,
        eps_in_sqrt: true,
        centered: false,
        momentum: None,
        nesterov: false,
        bias_correction: false,
    }
}

impl Rmsprop {
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

    /// Whether the square of the average is taken off.
    #[must_use]
    pub fn centered(mut self, centered: bool) -> Self {
        self.centered = centered;
        self
    }

    /// The decay of the momentum after the learning rate; none unless set.
    #[must_use]
    pub fn momentum(mut self, momentum: impl Into<Hyper>) -> Self {
        self.momentum = Some(momentum.into());
        self
    }

    /// Whether the momentum looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Whether the averages are divided by `1 - decay^t`.
    #[must_use]
    pub fn bias_correction(mut self, bias_correction: bool) -> Self {
        self.bias_correction = bias_correction;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("decay", &mut self.decay)?;
        args.set_hyper("eps", &mut self.eps)?;
        self.initial_scale = args.number("initial_scale")?.unwrap_or(self.initial_scale);
        self.eps_in_sqrt = args.flag("eps_in_sqrt")?.unwrap_or(self.eps_in_sqrt);
        self.centered = args.flag("centered")?.unwrap_or(self.centered);
        if let Some(momentum) = args.optional_hyper("momentum")? {
            self.momentum = Some(momentum);
        }
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        self.bias_correction = args
            .flag("bias_correction")?
            .unwrap_or(self.bias_correction);
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Rmsprop {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let rms = (!self.centered).then(|| {
            scale_by_rms()
                .decay(self.decay.clone())
                .eps(self.eps.clone())
                .initial_scale(self.initial_scale)
                .eps_in_sqrt(self.eps_in_sqrt)
                .bias_correction(self.bias_correction)
        });
        let stddev = self.centered.then(|| {
            scale_by_stddev()
                .decay(self.decay.clone())
                .eps(self.eps.clone())
                .initial_scale(self.initial_scale)
                .eps_in_sqrt(self.eps_in_sqrt)
                .bias_correction(self.bias_correction)
        });
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let momentum = self.momentum.as_ref();
        let momentum = momentum.map(|m| trace(m.or_named("momentum")).nesterov(self.nesterov));
        cx.apply(&chain((batch_mean(), rms, stddev, step, momentum)), x)
    }
}
