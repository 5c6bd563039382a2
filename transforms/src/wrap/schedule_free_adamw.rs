//! AdamW without a schedule.

use crate::aggregated::{add_decayed_weights, ema, scale_by_learning_rate};
use crate::axis::{Aggregated, Axis};
use crate::combine::{chain, ratio};
use crate::elementwise::{identity, sqrt, square};
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;
use crate::wrap::schedule_free;

pub(crate) const ENTRY: Entry = Entry {
    name: "schedule_free_adamw",
    family: Family::Wrapper,
    summary: "batch_mean, schedule_free of g / (sqrt(ema(g^2, b2)) + eps), add_decayed_weights and scale_by_learning_rate",
    reference: "Defazio et al., 2024, arXiv 2405.15682",
    arguments: &[
        Argument::optional("learning_rate", "0.0025"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("weight_decay", "0"),
        Argument::optional("weight_lr_power", "2"),
    ],
    build: |args| {
        let mut link = schedule_free_adamw(0.0025);
        args.set_hyper("learning_rate", &mut link.learning_rate)?;
        args.set_hyper("b1", &mut link.b1)?;
        args.set_hyper("b2", &mut link.b2)?;
        args.set_hyper("eps", &mut link.eps)?;
        args.set_hyper("weight_decay", &mut link.weight_decay)?;
        args.set_hyper("weight_lr_power", &mut link.weight_lr_power)?;
        Ok(Link::both(link))
    },
};

/// AdamW without a schedule. Built by [`schedule_free_adamw`].
#[derive(Clone, Debug)]
pub struct ScheduleFreeAdamw {
    learning_rate: Hyper,
    b1: Hyper,
    b2: Hyper,
    eps: Hyper,
    weight_decay: Hyper,
    weight_lr_power: Hyper,
}

/// Schedule-free AdamW: [`schedule_free`](crate::schedule_free()) of AdamW without its first moment, over the mean of the examples.
///
/// For a warm-up, which is recommended, give a schedule from 0 to the learning rate. Defaults are optax's: b1 0.9, b2 0.999,
/// eps 1e-8, weight decay 0, weight_lr_power 2; a specification may leave out the learning rate, 0.0025.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&schedule_free_adamw(0.0025).weight_decay(0.01)).is_ok());
/// ```
///
/// # Reference
/// Defazio et al., 2024, arXiv 2405.15682, algorithm 1.
pub fn schedule_free_adamw(learning_rate: impl Into<Hyper>) -> ScheduleFreeAdamw {
    ScheduleFreeAdamw {
        learning_rate: learning_rate.into(),
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
        weight_decay: 0.0.into(),
        weight_lr_power: 2.0.into(),
    }
}

impl ScheduleFreeAdamw {
    hyper_setters! {
        /// The share of the average in the parameters of the model.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// A number added to the root.
        eps;
        /// The share of the parameters added to the updates before the learning rate.
        weight_decay;
        /// The power of the learning rate in the weight of a step.
        weight_lr_power;
    }
}

impl<In: Axis> Transform<In> for ScheduleFreeAdamw {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let second = ema(self.b2.or_named("b2"));
        let eps = self.eps.or_named("eps");
        let scaled = ratio(identity(), chain((square(), second, sqrt())), eps);
        let decay = add_decayed_weights(self.weight_decay.or_named("weight_decay"));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let link = schedule_free(chain((scaled, decay, step)), self.learning_rate.clone())
            .b1(self.b1.clone())
            .weight_lr_power(self.weight_lr_power.clone());
        cx.apply(&chain((batch_mean(), link)), x)
    }
}
