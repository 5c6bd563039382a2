//! One training, with what each step does to the single examples of its batch.

use burn::tensor::Device;
use indicatif::ProgressBar;
use pergrad::{Optimizer, per_example_grads};

use crate::classifier::{Classifier, mean, numbers};
use crate::cnn::Cnn;
use crate::digits::{Augment, Digits, permutation};
use crate::random::Random;

/// How long, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// The channels of the first convolution.
    pub width: usize,
    /// The examples of a batch.
    pub batch: usize,
    /// How often all images are shown.
    pub epochs: usize,
    /// How they are changed.
    pub augment: Augment,
}

/// The shares of a batch that a step harms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Harm {
    /// To first order on the last layer, by the update as the optimizer has it.
    pub before: f64,
    /// The same by the update that is taken.
    pub after: f64,
    /// To first order over all layers, by the update that is taken.
    pub whole: f64,
    /// The share whose loss is really larger after the step.
    pub measured: f64,
}

/// What came of a training.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Of each step.
    pub harm: Vec<Harm>,
    /// The mean loss of each batch, before its step.
    pub batch_losses: Vec<f64>,
    /// The mean loss of the training images as they are, at the end.
    pub train_loss: f64,
    /// The mean loss of the other images, at the end.
    pub test_loss: f64,
    /// The share of the other images that are told right, at the end.
    pub accuracy: f64,
}

impl Course {
    /// Trains a network of a seed, which draws its weights, the batches and their changes, so that two optimizers see the same.
    ///
    /// # Errors
    /// What the optimizer says.
    pub fn run(
        &self,
        mut optimizer: Optimizer,
        (train, test): (&Digits, &Digits),
        (seed, device): (u64, &Device),
        bar: &ProgressBar,
    ) -> Result<Outcome, Box<dyn std::error::Error>> {
        let mut model = Cnn::new(train, self.width, seed, device);
        let mut random = Random::new(seed ^ 0x5EED);
        let (mut harm, mut batch_losses) = (Vec::new(), Vec::new());
        for _ in 0..self.epochs {
            let order = permutation(train.len(), &mut random);
            for rows in order.chunks(self.batch) {
                let batch = train.augmented(rows, self.augment, &mut random, device);
                let (losses, grads) = per_example_grads(&model, |m| m.losses(batch.clone()))?;
                model = optimizer.step(model, grads)?;
                let (before, after) = (numbers(losses), numbers(model.losses(batch)));
                let raised = before.iter().zip(&after).map(|(b, a)| f64::from(a > b));
                let metrics = optimizer.metrics()?;
                harm.push(Harm {
                    before: metrics["reduce_interference.harmed_before"][0],
                    after: metrics["reduce_interference.harmed_after"][0],
                    whole: metrics["harm.share"][0],
                    measured: mean(&raised.collect::<Vec<f64>>()),
                });
                batch_losses.push(mean(&before));
            }
            bar.inc(1);
        }
        Ok(Outcome {
            harm,
            batch_losses,
            train_loss: mean(&model.all_losses(train, device)),
            test_loss: mean(&model.all_losses(test, device)),
            accuracy: model.accuracy(test, device),
        })
    }
}

impl Outcome {
    /// The mean over all steps of one of the shares.
    pub fn mean_harm(&self, of: fn(&Harm) -> f64) -> f64 {
        mean(&self.harm.iter().map(of).collect::<Vec<f64>>())
    }
}
