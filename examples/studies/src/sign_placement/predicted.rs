//! The ratios of the coordinates of a model, and what they predict, along a training.

use std::error::Error;

use pergrad::transforms::placement::SignPlacement;
use pergrad::{GradientStatistics, PlacementPredictions, per_example_grads};

use super::Place;
use super::sweep::{Training, spec};
use crate::transformer::Transformer;

/// Statistics are taken from batches of this size, whatever the training has.
const PART: usize = 64;

/// What is known at one moment of a training.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Steps taken.
    pub step: usize,
    /// The validation loss.
    pub loss: f64,
    /// The ratios that are predicted.
    pub predicted: PlacementPredictions,
}

/// Measures at the start, after a quarter, a half, and all of a training of `mean, ema, sign`.
///
/// # Errors
/// Gradients that are not finite.
pub fn course(
    at: &Place<'_>,
    model: &Transformer,
    rate: f64,
) -> Result<Vec<Moment>, Box<dyn Error>> {
    let steps = at.settings.steps;
    let mut wanted = vec![0, steps / 4, steps / 2, steps];
    wanted.dedup();
    let chain = spec(SignPlacement::SignEma, at.settings.beta)?;
    let mut training = Training::new(at, model.clone(), &chain, rate, 0)?;
    let mut moments = Vec::new();
    for step in wanted {
        training.run_to(at, step)?;
        let predicted = statistics(at, training.model())?;
        moments.push(Moment {
            step,
            loss: training.validation_loss(),
            predicted: predicted.predict(at.settings.batch, at.settings.beta)?,
        });
        at.bar.inc(1);
    }
    Ok(moments)
}

/// The statistics of all coordinates over many sequences.
///
/// # Errors
/// A text that is too short.
pub fn statistics(
    at: &Place<'_>,
    model: &Transformer,
) -> Result<GradientStatistics, Box<dyn Error>> {
    let device = burn::tensor::Device::default().autodiff();
    let mut random = at.settings.random(77);
    let mut all: Option<GradientStatistics> = None;
    for _ in 0..at.settings.measured.div_ceil(PART) {
        let context = at.settings.model.context;
        let batch = at.text.batch(PART, context, &mut random, &device)?;
        let (_, grads) = per_example_grads(model, |m| m.losses(batch))?;
        let part = GradientStatistics::of(&grads)?;
        match &mut all {
            None => all = Some(part),
            Some(all) => all.merge(&part)?,
        }
    }
    Ok(all.expect("at least one batch"))
}
