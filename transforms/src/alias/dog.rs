//! Distance over gradients (DoG).

use crate::aggregated::{
    DogInit, ScaleByDog, add_decayed_weights, scale_by_dog, scale_by_learning_rate,
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
    name: "dog",
    family: Family::Alias,
    summary: "batch_mean, [add_decayed_weights,] scale_by_dog, scale_by_learning_rate",
    reference: "Ivgi et al., 2023, arXiv 2302.12022",
    arguments: &[
        Argument::optional("init_step", "heuristic"),
        Argument::optional("init_value", "1e-6"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("learning_rate", "1"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = dog();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Distance over gradients (DoG). Built by [`dog`].
#[derive(Clone, Debug)]
pub struct Dog {
    distance: ScaleByDog,
    learning_rate: Hyper,
    weight_decay: Option<Hyper>,
    mask: Leaves,
}

/// Distance over gradients (DoG), which needs no learning rate: `chain((batch_mean(), scale_by_dog(), scale_by_learning_rate(1.0)))`, and
/// [`add_decayed_weights`](crate::add_decayed_weights) after the mean if `weight_decay` is set.
///
/// Defaults are optax's: learning_rate 1, init_step heuristic, init_value 1e-6, eps 1e-8.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&dog()).is_ok());
/// ```
///
/// # Reference
/// Ivgi et al., 2023, arXiv 2302.12022.
pub fn dog() -> Dog {
    Dog {
        distance: scale_by_dog(),
        learning_rate: 1.0.into(),
        weight_decay: None,
        mask: Leaves::All,
    }
}

impl Dog {
    hyper_setters! {
        /// The factor of the step, a schedule most often.
        learning_rate;
        /// The first distance, the first rate, or the first distance relative to `1 + ||p_0||`.
        init_value in distance;
        /// A number added to the root.
        eps in distance;
    }

    /// The share of the parameters added to the gradients; none unless set.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: impl Into<Hyper>) -> Self {
        self.weight_decay = Some(weight_decay.into());
        self
    }

    /// The leaves that decay; all unless set.
    #[must_use]
    pub fn mask(mut self, mask: Leaves) -> Self {
        self.mask = mask;
        self
    }

    /// What `init_value` is.
    #[must_use]
    pub fn init_step(mut self, init_step: DogInit) -> Self {
        self.distance = self.distance.init_step(init_step);
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.distance.read(args)?;
        args.set_hyper("learning_rate", &mut self.learning_rate)?;
        if let Some(weight_decay) = args.optional_hyper("weight_decay")? {
            self.weight_decay = Some(weight_decay);
        }
        if let Some(mask) = args.leaves("mask")? {
            self.mask = mask;
        }
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Dog {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), decay, &self.distance, step)), x)
    }
}
