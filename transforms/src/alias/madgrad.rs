//! MADGRAD.

use crate::aggregated::{add_decayed_weights, scale_by_madgrad};
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
    name: "madgrad",
    family: Family::Alias,
    summary: "batch_mean, [add_decayed_weights,] scale_by_madgrad",
    reference: "Defazio and Jelassi, 2021, arXiv 2101.11075",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("momentum", "0.9"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("eps", "1e-6"),
    ],
    build: |args| {
        let mut link = madgrad(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// MADGRAD. Built by [`madgrad`].
#[derive(Clone, Debug)]
pub struct Madgrad {
    learning_rate: Hyper,
    momentum: Hyper,
    weight_decay: Option<Hyper>,
    eps: Hyper,
}

/// MADGRAD: `chain((batch_mean(), scale_by_madgrad(learning_rate)))`, and [`add_decayed_weights`](crate::add_decayed_weights) after the
/// mean if `weight_decay` is set.
///
/// Defaults are optax's: momentum 0.9, eps 1e-6.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&madgrad(0.1)).is_ok());
/// ```
///
/// # Reference
/// Defazio, Jelassi, 2021, arXiv 2101.11075.
pub fn madgrad(learning_rate: impl Into<Hyper>) -> Madgrad {
    Madgrad {
        learning_rate: learning_rate.into(),
        momentum: 0.9.into(),
        weight_decay: None,
        eps: 1e-6.into(),
    }
}

impl Madgrad {
    hyper_setters! {
        /// The share of the parameters that stays.
        momentum;
        /// A number added to the cube root, and to the rate.
        eps;
    }

    /// The share of the parameters added to the gradients; none unless set.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: impl Into<Hyper>) -> Self {
        self.weight_decay = Some(weight_decay.into());
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("momentum", &mut self.momentum)?;
        if let Some(weight_decay) = args.optional_hyper("weight_decay")? {
            self.weight_decay = Some(weight_decay);
        }
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Madgrad {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let average = scale_by_madgrad(self.learning_rate.clone())
            .momentum(self.momentum.clone())
            .eps(self.eps.clone());
        cx.apply(&chain((batch_mean(), decay, average)), x)
    }
}
