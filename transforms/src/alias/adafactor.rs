//! Adafactor.

use crate::aggregated::{
    add_decayed_weights, clip_by_block_rms, ema, scale_by_factored_rms, scale_by_learning_rate,
    scale_by_param_block_rms,
};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::elementwise::scale;
use crate::error::Error;
use crate::hyper::{Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "adafactor",
    family: Family::Alias,
    summary: "batch_mean, scale_by_factored_rms, clip_by_block_rms, [* learning_rate,] [scale_by_param_block_rms,] [ema,] [add_decayed_weights,] scale(-1)",
    reference: "Shazeer and Stern, 2018, arXiv 1804.04235",
    arguments: &[
        Argument::optional("learning_rate", "none"),
        Argument::optional("min_dim_size_to_factor", "128"),
        Argument::optional("decay_rate", "0.8"),
        Argument::optional("decay_offset", "0"),
        Argument::optional("multiply_by_parameter_scale", "true"),
        Argument::optional("clipping_threshold", "1"),
        Argument::optional("momentum", "none"),
        Argument::optional("weight_decay_rate", "none"),
        Argument::optional("eps", "1e-30"),
        Argument::optional("factored", "true"),
        Argument::optional("weight_decay_mask", "all"),
    ],
    build: |args| {
        let mut link = adafactor();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Adafactor. Built by [`adafactor`].
#[derive(Clone, Debug)]
pub struct Adafactor {
    learning_rate: Option<Hyper>,
    min_dim_size_to_factor: usize,
    decay_rate: Hyper,
    decay_offset: usize,
    multiply_by_parameter_scale: bool,
    clipping_threshold: Hyper,
    momentum: Option<Hyper>,
    weight_decay_rate: Option<Hyper>,
    eps: Hyper,
    factored: bool,
    weight_decay_mask: Leaves,
}

/// Adafactor on the mean gradient: `chain((batch_mean(), scale_by_factored_rms(), clip_by_block_rms(1.0), scale(learning_rate),
/// scale_by_param_block_rms(), scale(-1.0)))`, with an average and weight decay before the last link if they are set. The decay is
/// *not* multiplied by the learning rate.
///
/// Defaults are optax's: no learning rate, decay_rate 0.8, clipping_threshold 1, multiplied by the size of the parameters.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adafactor().learning_rate(0.01)).is_ok());
/// ```
///
/// # Reference
/// Shazeer, Stern, 2018, arXiv 1804.04235.
pub fn adafactor() -> Adafactor {
    Adafactor {
        learning_rate: None,
        min_dim_size_to_factor: 128,
        decay_rate: 0.8.into(),
        decay_offset: 0,
        multiply_by_parameter_scale: true,
        clipping_threshold: 1.0.into(),
        momentum: None,
        weight_decay_rate: None,
        eps: 1e-30.into(),
        factored: true,
        weight_decay_mask: Leaves::All,
    }
}

impl Adafactor {
    hyper_setters! {
        /// How fast the decay nears 1: at step t it is `1 - t^-decay_rate`.
        decay_rate;
        /// The largest root mean square of each leaf's update; infinity clips nothing.
        clipping_threshold;
        /// A number added to the squares.
        eps;
    }

    /// The learning rate; none unless set.
    #[must_use]
    pub fn learning_rate(mut self, learning_rate: impl Into<Hyper>) -> Self {
        self.learning_rate = Some(learning_rate.into());
        self
    }

    /// The smallest length of the two longest axes of a leaf that is factored.
    #[must_use]
    pub fn min_dim_size_to_factor(mut self, min_dim_size_to_factor: usize) -> Self {
        self.min_dim_size_to_factor = min_dim_size_to_factor;
        self
    }

    /// How many steps to count less, for going on with a trained model.
    #[must_use]
    pub fn decay_offset(mut self, decay_offset: usize) -> Self {
        self.decay_offset = decay_offset;
        self
    }

    /// Whether the update is multiplied by the root mean square of the parameters.
    #[must_use]
    pub fn multiply_by_parameter_scale(mut self, multiply_by_parameter_scale: bool) -> Self {
        self.multiply_by_parameter_scale = multiply_by_parameter_scale;
        self
    }

    /// The decay of an average of the updates, which is not debiased; none unless set.
    #[must_use]
    pub fn momentum(mut self, momentum: impl Into<Hyper>) -> Self {
        self.momentum = Some(momentum.into());
        self
    }

    /// The share of the parameters taken off at each step; none unless set.
    #[must_use]
    pub fn weight_decay_rate(mut self, weight_decay_rate: impl Into<Hyper>) -> Self {
        self.weight_decay_rate = Some(weight_decay_rate.into());
        self
    }

    /// Whether large matrices are factored.
    #[must_use]
    pub fn factored(mut self, factored: bool) -> Self {
        self.factored = factored;
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
        if let Some(learning_rate) = args.optional_hyper("learning_rate")? {
            self.learning_rate = Some(learning_rate);
        }
        self.min_dim_size_to_factor = args
            .count("min_dim_size_to_factor")?
            .unwrap_or(self.min_dim_size_to_factor);
        args.set_hyper("decay_rate", &mut self.decay_rate)?;
        self.decay_offset = args.count("decay_offset")?.unwrap_or(self.decay_offset);
        self.multiply_by_parameter_scale = args
            .flag("multiply_by_parameter_scale")?
            .unwrap_or(self.multiply_by_parameter_scale);
        args.set_hyper("clipping_threshold", &mut self.clipping_threshold)?;
        if let Some(momentum) = args.optional_hyper("momentum")? {
            self.momentum = Some(momentum);
        }
        if let Some(weight_decay_rate) = args.optional_hyper("weight_decay_rate")? {
            self.weight_decay_rate = Some(weight_decay_rate);
        }
        args.set_hyper("eps", &mut self.eps)?;
        self.factored = args.flag("factored")?.unwrap_or(self.factored);
        if let Some(weight_decay_mask) = args.leaves("weight_decay_mask")? {
            self.weight_decay_mask = weight_decay_mask;
        }
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Adafactor {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let rms = scale_by_factored_rms()
            .factored(self.factored)
            .decay_rate(self.decay_rate.clone())
            .step_offset(self.decay_offset)
            .min_dim_size_to_factor(self.min_dim_size_to_factor)
            .epsilon(self.eps.clone());
        let clip = clip_by_block_rms(self.clipping_threshold.or_named("clipping_threshold"));
        let rate = self.learning_rate.as_ref();
        let rate = rate.map(|rate| scale_by_learning_rate(rate.clone()).flip_sign(false));
        let size = self
            .multiply_by_parameter_scale
            .then(scale_by_param_block_rms);
        let momentum = self.momentum.as_ref();
        let momentum = momentum.map(|decay| ema(decay.or_named("momentum")).debias(false));
        let decay = self.weight_decay_rate.as_ref();
        let decay = decay.map(|share| add_decayed_weights(share.or_named("weight_decay_rate")));
        let decay = decay.map(|decay| decay.mask(self.weight_decay_mask.clone()));
        let links = (
            batch_mean(),
            rms,
            clip,
            rate,
            size,
            momentum,
            decay,
            scale(-1.0),
        );
        cx.apply(&chain(links), x)
    }
}
