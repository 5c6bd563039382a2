//! The same number of steps with examples drawn all alike, and by their norms.

use burn::tensor::{Device, Tensor};
use indicatif::ProgressBar;
use pergrad::prelude::{chain, monitor, scale_per_example, sgd};
use pergrad::transforms::sampler::NormSampler;
use pergrad::{Extras, Optimizer, per_example_grads};

use super::variance::informed;
use crate::classifier::{Classifier, mean};
use crate::digits::Digits;

/// How examples are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawing {
    /// All alike.
    Alike,
    /// By the norms that the batches had when they were drawn last.
    AsSeen,
    /// The same, and all norms are taken anew at the start of each epoch.
    Refreshed,
}

impl Drawing {
    pub(super) const ALL: [Self; 3] = [Self::Alike, Self::AsSeen, Self::Refreshed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alike => "all alike",
            Self::AsSeen => "by norm, as last seen",
            Self::Refreshed => "by norm, taken each epoch",
        }
    }
}

/// How long, and how fast.
pub(super) struct Course {
    pub(super) learning_rate: f64,
    pub(super) batch: usize,
    pub(super) epochs: usize,
    pub(super) mix: f64,
}

/// The mean loss of all training images after each epoch, and the accuracy on the others at the end.
pub(super) struct Curve {
    pub(super) losses: Vec<f64>,
    pub(super) accuracy: f64,
}

impl Course {
    /// Trains by plain gradient descent. An epoch is as many draws as there are images.
    pub(super) fn run<C: Classifier>(
        &self,
        drawing: Drawing,
        mut model: C,
        (train, test): (&Digits, &Digits),
        (seed, device): (u64, &Device),
        bar: &ProgressBar,
    ) -> Result<Curve, Box<dyn std::error::Error>> {
        let mix = if drawing == Drawing::Alike {
            1.0
        } else {
            self.mix
        };
        let mut sampler = NormSampler::new(train.len())?.mix(mix)?;
        let mut optimizer = Optimizer::new(chain((
            monitor::per_example_norms(),
            scale_per_example("importance"),
            sgd(self.learning_rate),
        )))?;
        let mut losses = vec![mean(&model.all_losses(train, device))];
        let mut step = seed << 32;
        for _ in 0..self.epochs {
            if drawing == Drawing::Refreshed {
                sampler = informed(&model.all_norms(train, device)?.1, mix)?;
            }
            for _ in 0..train.len().div_ceil(self.batch) {
                let draws = sampler.sample(self.batch, step);
                step += 1;
                let rows: Vec<usize> = draws.iter().map(|draw| draw.index).collect();
                let weights: Vec<f64> = draws.iter().map(|draw| draw.weight).collect();
                let weights = Tensor::<1>::from_data(&weights[..], device);
                let batch = train.batch(&rows, device);
                let (_, grads) = per_example_grads(&model, |m| m.losses(batch))?;
                let extras = Extras::new().per_example("importance", weights);
                model = optimizer.step_with(model, grads, &extras)?;
                // The norms of the gradients themselves: the monitor stands before the weights.
                let metrics = optimizer.metrics()?;
                sampler.update(&rows, &metrics["per_example_norms.norm"])?;
            }
            losses.push(mean(&model.all_losses(train, device)));
            bar.inc(1);
        }
        Ok(Curve {
            losses,
            accuracy: model.accuracy(test, device),
        })
    }
}
