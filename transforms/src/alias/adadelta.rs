//! Adadelta.

use crate::aggregated::{
    ScaleByAdadelta, add_decayed_weights, scale_by_adadelta, scale_by_learning_rate,
};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::error::Error;
use crate::hyper::{Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "adadelta",
    family: Family::Alias,
    summary: "batch_mean, [add_decayed_weights,] scale_by_adadelta, scale_by_learning_rate",
    reference: "Zeiler, 2012, arXiv 1212.5701",
    arguments: &[
        Argument::optional("rho", "0.9"),
        Argument::optional("eps", "1e-6"),
        Argument::optional("learning_rate", "1"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("weight_decay_mask", "all"),
    ],
    build: |args| {
        let mut link = adadelta();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Adadelta. Built by [`adadelta`].
#[derive(Clone, Debug)]
pub struct Adadelta {
    preconditioner: ScaleByAdadelta,
    learning_rate: Hyper,
    weight_decay: Option<Hyper>,
    weight_decay_mask: Leaves,
}

/// Adadelta of the mean gradient: `chain((batch_mean(), scale_by_adadelta(), scale_by_learning_rate(1.0)))`, and
/// [`add_decayed_weights`](crate::add_decayed_weights) after the mean if `weight_decay` is set.
///
/// Defaults are optax's: learning_rate 1, rho 0.9, eps 1e-6.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adadelta()).is_ok());
/// ```
///
/// # Reference
/// Zeiler, 2012, arXiv 1212.5701.
pub fn adadelta() -> Adadelta {
    Adadelta {
        preconditioner: scale_by_adadelta(),
        learning_rate: 1.0.into(),
        weight_decay: None,
        weight_decay_mask: Leaves::All,
    }
}

impl Adadelta {
    hyper_setters! {
        /// The factor of the step, a schedule most often.
        learning_rate;
        /// The decay of both averages.
        rho in preconditioner;
        /// A number added under both roots.
        eps in preconditioner;
    }

    /// The share of the parameters added to the gradients; none unless set.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: impl Into<Hyper>) -> Self {
        self.weight_decay = Some(weight_decay.into());
        self
    }

    /// The leaves that decay; all unless set.
    #[must_use]
    pub fn weight_decay_mask(mut self, weight_decay_mask: Leaves) -> Self {
        self.weight_decay_mask = weight_decay_mask;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.preconditioner.read(args)?;
        args.set_hyper("learning_rate", &mut self.learning_rate)?;
        if let Some(weight_decay) = args.optional_hyper("weight_decay")? {
            self.weight_decay = Some(weight_decay);
        }
        if let Some(weight_decay_mask) = args.leaves("weight_decay_mask")? {
            self.weight_decay_mask = weight_decay_mask;
        }
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Adadelta {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.weight_decay_mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), decay, &self.preconditioner, step)), x)
    }
}
