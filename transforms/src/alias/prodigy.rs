//! Prodigy.

use crate::aggregated::moments::{average, dot, start};
use crate::axis::{Aggregated, Axis};
use crate::error::Error;
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "prodigy",
    family: Family::Alias,
    summary: "Adam, whose rate is estimated from g . (p_0 - p)",
    reference: "Mishchenko and Defazio, 2023, arXiv 2306.06101",
    arguments: &[
        Argument::optional("learning_rate", "1"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("beta3", "none"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("estim_lr0", "1e-6"),
        Argument::optional("estim_lr_coef", "1"),
        Argument::optional("weight_decay", "0"),
        Argument::optional("safeguard_warmup", "false"),
    ],
    build: |args| {
        let mut link = prodigy();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Prodigy. Built by [`prodigy`].
#[derive(Clone, Debug)]
pub struct Prodigy {
    learning_rate: Hyper,
    b1: Hyper,
    b2: Hyper,
    beta3: Option<Hyper>,
    eps: Hyper,
    estim_lr0: Hyper,
    estim_lr_coef: Hyper,
    weight_decay: Hyper,
    safeguard_warmup: bool,
}

/// Adam without a learning rate: it estimates the distance to the solution from the gradients and the way it has come, and takes that
/// for the rate. `learning_rate` is a factor, 1 or a schedule that ends at 0.
///
/// With the estimate `d` and the rate `r = d * learning_rate * sqrt(1 - b2^t) / (1 - b1^t)` the averages take `d * g`, the estimate is
/// the largest of the past ones and `estim_lr_coef * n / ||s||_1`, where `n <- beta3 n + d / d_0 * r * g . (p_0 - p)` and
/// `s <- beta3 s + r * d / d_0 * g`, and the update is `-r (m / (sqrt(v) + d eps) + weight_decay * p)`.
///
/// Defaults are optax's: learning_rate 1, b1 0.9, b2 0.999, beta3 sqrt(b2), eps 1e-8, estim_lr0 1e-6, estim_lr_coef 1.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | the decay only, where optax has NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&prodigy()).is_ok());
/// ```
///
/// # Reference
/// Mishchenko, Defazio, 2023, arXiv 2306.06101.
pub fn prodigy() -> Prodigy {
    Prodigy {
        learning_rate: 1.0.into(),
        b1: 0.9.into(),
        b2: 0.999.into(),
        beta3: None,
        eps: 1e-8.into(),
        estim_lr0: 1e-6.into(),
        estim_lr_coef: 1.0.into(),
        weight_decay: 0.0.into(),
        safeguard_warmup: false,
    }
}

impl Prodigy {
    hyper_setters! {
        /// The factor of the step, a schedule most often.
        learning_rate;
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// A number added to the root.
        eps;
        /// The first estimate of the rate.
        estim_lr0;
        /// A factor of the estimate.
        estim_lr_coef;
        /// The share of the parameters taken off at each step, times the rate.
        weight_decay;
    }

    /// The decay of the sums that estimate the rate; the root of b2 unless set.
    #[must_use]
    pub fn beta3(mut self, beta3: impl Into<Hyper>) -> Self {
        self.beta3 = Some(beta3.into());
        self
    }

    /// Whether the rate is left out of the weights of the sum, so that a warm-up does not make the estimate too large.
    #[must_use]
    pub fn safeguard_warmup(mut self, safeguard_warmup: bool) -> Self {
        self.safeguard_warmup = safeguard_warmup;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("learning_rate", &mut self.learning_rate)?;
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        if let Some(beta3) = args.optional_hyper("beta3")? {
            self.beta3 = Some(beta3);
        }
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("estim_lr0", &mut self.estim_lr0)?;
        args.set_hyper("estim_lr_coef", &mut self.estim_lr_coef)?;
        args.set_hyper("weight_decay", &mut self.weight_decay)?;
        self.safeguard_warmup = args
            .flag("safeguard_warmup")?
            .unwrap_or(self.safeguard_warmup);
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Prodigy {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = cx.apply(&batch_mean(), x);
        let hyper =
            |name: &str, value: &Hyper, domain| cx.hyper(name, &value.or_named(name), domain);
        let (b1, b2) = (
            hyper("b1", &self.b1, Domain::Decay),
            hyper("b2", &self.b2, Domain::Decay),
        );
        let fade = match &self.beta3 {
            Some(beta3) => hyper("beta3", beta3, Domain::Decay),
            None => b2.sqrt(),
        };
        let begin = hyper("estim_lr0", &self.estim_lr0, Domain::NonNegative);
        let factor = hyper("learning_rate", &self.learning_rate, Domain::NonNegative);
        let t = cx.step() + 1.0;
        let correction = (1.0 - b2.pow(&t)).sqrt() / (1.0 - b1.pow(t));
        let (params, start) = (cx.params(), start(cx));

        let distance = cx.slot::<Global>("estimate", 0.0);
        let before = cx.step().equal(0.0).select(&begin, distance.before());
        let rate = &before * factor * correction;
        let scaled = &x * &before;
        let first = average(cx, "first", &b1, &scaled);
        let second = average(cx, "second", &b2, &scaled.square());
        let weight = if self.safeguard_warmup {
            &before
        } else {
            &rate
        };
        let weighted = scaled * weight / &begin;
        let sum = cx.state::<Leaf>("sum", 0.0, |sum| sum * &fade + weighted);
        let gain = dot(&x, &(start - &params)) * &before / begin * &rate;
        let gains = cx.state::<Global>("gains", 0.0, |gains| gains * fade + gain);
        let coefficient = hyper("estim_lr_coef", &self.estim_lr_coef, Domain::NonNegative);
        let size = sum.abs().sum_elements().sum_leaves();
        let estimate = before.max((gains * coefficient).div_or_zero(size));
        cx.set(distance, &estimate);

        let eps = hyper("eps", &self.eps, Domain::NonNegative);
        let decay = hyper("weight_decay", &self.weight_decay, Domain::NonNegative);
        let step = first.div_or_zero(second.sqrt() + estimate * eps) + params * decay;
        -(step * rate)
    }
}
