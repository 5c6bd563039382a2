//! Adam by D-adaptation.

use crate::aggregated::moments::dot;
use crate::axis::{Aggregated, Axis};
use crate::error::Error;
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "dadapt_adamw",
    family: Family::Alias,
    summary: "Adam, whose rate is estimated from g . s",
    reference: "Defazio and Mishchenko, 2023, arXiv 2301.07733",
    arguments: &[
        Argument::optional("learning_rate", "1"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("estim_lr0", "1e-6"),
        Argument::optional("weight_decay", "0"),
        Argument::optional("weight_decay_mask", "all"),
    ],
    build: |args| {
        let mut link = dadapt_adamw();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Adam by D-adaptation. Built by [`dadapt_adamw`].
#[derive(Clone, Debug)]
pub struct DadaptAdamw {
    learning_rate: Hyper,
    b1: Hyper,
    b2: Hyper,
    eps: Hyper,
    estim_lr0: Hyper,
    weight_decay: Hyper,
    weight_decay_mask: Leaves,
}

/// Adam without a learning rate: it estimates the distance to the solution from the gradients and their weighted sum, and takes that
/// for the rate. `learning_rate` is a factor, 1 or a schedule that ends at 0.
///
/// With the estimate `d`, `c = sqrt(b2)` and the rate `r = d * learning_rate * sqrt(1 - b2^t) / (1 - b1^t)`: the first average takes
/// `r * g`, `n <- c n + (1 - c) r g . (s / (sqrt(v) + eps))` with the values before this step, `s <- c s + (1 - c) r g`, and the next
/// estimate is the largest of the past ones and `n / ((1 - c) ||s||_1)`.
///
/// Defaults are optax's: learning_rate 1, b1 0.9, b2 0.999, eps 1e-8, estim_lr0 1e-6.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | the decay only, where optax has NaN |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&dadapt_adamw()).is_ok());
/// ```
///
/// # Reference
/// Defazio, Mishchenko, 2023, arXiv 2301.07733.
pub fn dadapt_adamw() -> DadaptAdamw {
    DadaptAdamw {
        learning_rate: 1.0.into(),
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
        estim_lr0: 1e-6.into(),
        weight_decay: 0.0.into(),
        weight_decay_mask: Leaves::All,
    }
}

impl DadaptAdamw {
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
        /// The share of the parameters taken off at each step, times the rate.
        weight_decay;
    }

    /// The leaves that decay; all unless set.
    #[must_use]
    pub fn weight_decay_mask(mut self, weight_decay_mask: Leaves) -> Self {
        self.weight_decay_mask = weight_decay_mask;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("learning_rate", &mut self.learning_rate)?;
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("estim_lr0", &mut self.estim_lr0)?;
        args.set_hyper("weight_decay", &mut self.weight_decay)?;
        if let Some(weight_decay_mask) = args.leaves("weight_decay_mask")? {
            self.weight_decay_mask = weight_decay_mask;
        }
        Ok(())
    }
}

impl<In: Axis> Transform<In> for DadaptAdamw {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = cx.apply(&batch_mean(), x);
        let hyper =
            |name: &str, value: &Hyper, domain| cx.hyper(name, &value.or_named(name), domain);
        let (b1, b2) = (
            hyper("b1", &self.b1, Domain::Decay),
            hyper("b2", &self.b2, Domain::Decay),
        );
        let eps = hyper("eps", &self.eps, Domain::NonNegative);
        let begin = hyper("estim_lr0", &self.estim_lr0, Domain::NonNegative);
        let factor = hyper("learning_rate", &self.learning_rate, Domain::NonNegative);
        let t = cx.step() + 1.0;
        let correction = (1.0 - b2.pow(&t)).sqrt() / (1.0 - b1.pow(t));
        let fade = b2.sqrt();
        let fresh = 1.0 - &fade;

        let distance = cx.slot::<Global>("estimate", 0.0);
        let before = cx.step().equal(0.0).select(begin, distance.before());
        let rate = &before * factor * correction;
        let (sum, second) = (cx.slot::<Leaf>("sum", 0.0), cx.slot::<Leaf>("second", 0.0));
        let whitened = sum.before().div_or_zero(second.before().sqrt() + &eps);
        let gain = dot(&x, &whitened) * &fresh * &rate;
        let gains = cx.state::<Global>("gains", 0.0, |gains| gains * &fade + gain);
        let first = cx.state::<Leaf>("first", 0.0, |m| m * &b1 + &x * &rate * (1.0 - &b1));
        let next_second = second.before() * &b2 + x.square() * (1.0 - b2);
        let next_sum = sum.before() * fade + x * &rate * &fresh;
        let size = next_sum.abs().sum_elements().sum_leaves();
        cx.set(distance, &before.max(gains.div_or_zero(size * fresh)));

        let step = first.div_or_zero(next_second.sqrt() + eps);
        cx.set(sum, &next_sum);
        cx.set(second, &next_second);
        let decay = hyper("weight_decay", &self.weight_decay, Domain::NonNegative);
        let decayed = &step + cx.params() * decay * rate;
        -cx.choose(&self.weight_decay_mask, &decayed, &step)
    }
}
