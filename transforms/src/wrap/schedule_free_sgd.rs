//! SGD without a schedule.

use crate::aggregated::{add_decayed_weights, scale_by_learning_rate};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;
use crate::wrap::schedule_free;

pub(crate) const ENTRY: Entry = Entry {
    name: "schedule_free_sgd",
    family: Family::Wrapper,
    summary: "batch_mean, schedule_free of add_decayed_weights and scale_by_learning_rate",
    reference: "Defazio et al., 2024, arXiv 2405.15682",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("b1", "0.9"),
        Argument::optional("weight_decay", "0"),
        Argument::optional("weight_lr_power", "2"),
    ],
    build: |args| {
        let mut link = schedule_free_sgd(args.hyper("learning_rate")?);
        args.set_hyper("b1", &mut link.b1)?;
        args.set_hyper("weight_decay", &mut link.weight_decay)?;
        args.set_hyper("weight_lr_power", &mut link.weight_lr_power)?;
        Ok(Link::both(link))
    },
};

/// SGD without a schedule. Built by [`schedule_free_sgd`].
#[derive(Clone, Debug)]
pub struct ScheduleFreeSgd {
    learning_rate: Hyper,
    b1: Hyper,
    weight_decay: Hyper,
    weight_lr_power: Hyper,
}

/// Schedule-free SGD: [`schedule_free`](crate::schedule_free()) of gradient descent with weight decay, over the mean of the examples.
///
/// For a warm-up, which is recommended, give a schedule from 0 to the learning rate. Defaults: b1 0.9, weight decay 0,
/// weight_lr_power 2.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&schedule_free_sgd(linear_schedule(0.0, 1.0, 100))).is_ok());
/// ```
///
/// # Reference
/// Defazio et al., 2024, arXiv 2405.15682.
pub fn schedule_free_sgd(learning_rate: impl Into<Hyper>) -> ScheduleFreeSgd {
    ScheduleFreeSgd {
        learning_rate: learning_rate.into(),
        b1: 0.9.into(),
        weight_decay: 0.0.into(),
        weight_lr_power: 2.0.into(),
    }
}

impl ScheduleFreeSgd {
    hyper_setters! {
        /// The share of the average in the parameters of the model.
        b1;
        /// The share of the parameters added to the gradients.
        weight_decay;
        /// The power of the learning rate in the weight of a step.
        weight_lr_power;
    }
}

impl<In: Axis> Transform<In> for ScheduleFreeSgd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let decay = add_decayed_weights(self.weight_decay.or_named("weight_decay"));
        let link = schedule_free(chain((decay, step)), self.learning_rate.clone())
            .b1(self.b1.clone())
            .weight_lr_power(self.weight_lr_power.clone());
        cx.apply(&chain((batch_mean(), link)), x)
    }
}
