//! Stochastic gradient descent.

use crate::aggregated::{scale_by_learning_rate, trace};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::hyper::Hyper;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sgd",
    family: Family::Alias,
    summary: "batch_mean, [trace(momentum),] scale_by_learning_rate",
    reference: "Robbins and Monro, 1951; Sutskever et al., 2013",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("momentum", "none"),
        Argument::optional("nesterov", "false"),
    ],
    build: |args| {
        let mut link = sgd(args.hyper("learning_rate")?);
        if let Some(momentum) = args.optional_hyper("momentum")? {
            link = link.momentum(momentum);
        }
        let nesterov = args.flag("nesterov")?.unwrap_or(false);
        Ok(Link::both(link.nesterov(nesterov)))
    },
};

/// Stochastic gradient descent. Built by [`sgd`].
#[derive(Clone, Debug)]
pub struct Sgd {
    learning_rate: Hyper,
    momentum: Option<Hyper>,
    nesterov: bool,
}

/// Steps against the mean gradient: `chain((batch_mean(), scale_by_learning_rate(learning_rate)))`, with
/// [`trace`](crate::trace) between them if there is momentum.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&sgd(0.1).momentum(0.9)).is_ok());
/// assert!(optimizer_program(&chain((clip_per_example(1.0), sgd(0.1)))).is_ok());
/// ```
pub fn sgd(learning_rate: impl Into<Hyper>) -> Sgd {
    Sgd {
        learning_rate: learning_rate.into(),
        momentum: None,
        nesterov: false,
    }
}

impl Sgd {
    /// The decay of the momentum; none unless set. See [`trace`](crate::trace).
    #[must_use]
    pub fn momentum(mut self, momentum: impl Into<Hyper>) -> Self {
        self.momentum = Some(momentum.into());
        self
    }

    /// Whether the momentum looks one step ahead. Without momentum it has no effect.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }
}

impl<In: Axis> Transform<In> for Sgd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        match &self.momentum {
            None => cx.apply(&chain((batch_mean(), step)), x),
            Some(momentum) => {
                let momentum = trace(momentum.or_named("momentum")).nesterov(self.nesterov);
                cx.apply(&chain((batch_mean(), momentum, step)), x)
            }
        }
    }
}
