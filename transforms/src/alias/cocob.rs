//! Coin betting.

use crate::aggregated::{
    ScaleByCocob, add_decayed_weights, scale_by_cocob, scale_by_learning_rate,
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
    name: "cocob",
    family: Family::Alias,
    summary: "batch_mean, [add_decayed_weights,] scale(learning_rate), scale_by_cocob",
    reference: "Orabona and Tommasi, 2017, arXiv 1705.07795",
    arguments: &[
        Argument::optional("alpha", "100"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("learning_rate", "1"),
        Argument::optional("weight_decay", "none"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = cocob();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Coin betting. Built by [`cocob`].
#[derive(Clone, Debug)]
pub struct Cocob {
    bet: ScaleByCocob,
    learning_rate: Hyper,
    weight_decay: Option<Hyper>,
    mask: Leaves,
}

/// Bets on each coordinate, without a learning rate: `chain((batch_mean(), scale_by_learning_rate(1.0).flip_sign(false),
/// scale_by_cocob()))`, and [`add_decayed_weights`](crate::add_decayed_weights) after the mean if `weight_decay` is set.
///
/// Defaults are optax's: learning_rate 1 (a factor of the gradients), alpha 100, eps 1e-8.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&cocob()).is_ok());
/// ```
///
/// # Reference
/// Orabona, Tommasi, 2017, arXiv 1705.07795.
pub fn cocob() -> Cocob {
    Cocob {
        bet: scale_by_cocob(),
        learning_rate: 1.0.into(),
        weight_decay: None,
        mask: Leaves::All,
    }
}

impl Cocob {
    hyper_setters! {
        /// The factor of the step, a schedule most often.
        learning_rate;
        /// How much is kept back in the first bets.
        alpha in bet;
        /// The smallest largest gradient.
        eps in bet;
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

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.bet.read(args)?;
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

impl<In: Axis> Transform<In> for Cocob {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let decay = self.weight_decay.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay")));
        let decay = decay.map(|decay| decay.mask(self.mask.clone()));
        let step = scale_by_learning_rate(self.learning_rate.clone()).flip_sign(false);
        cx.apply(&chain((batch_mean(), decay, step, &self.bet)), x)
    }
}
