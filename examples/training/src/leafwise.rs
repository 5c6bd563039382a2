//! A chain that stays inside a parameter, in the place of one of burn's optimizers.

use std::path::Path;

use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::ModuleOptimizer;
use burn::optim::lr_scheduler::constant::ConstantLr;
use burn::prelude::*;
use burn::tensor::activation::relu;
use burn::train::metric::{AccuracyMetric, LossMetric};
use burn::train::{
    ClassificationOutput, InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep,
};
use pergrad::Leafwise;
use pergrad::prelude::*;

use crate::digits::{Batch, Digits, accuracy};

/// Two of burn's own layers: aggregated gradients need none of pergrad's.
#[derive(Module, Debug)]
pub struct Model {
    hidden: Linear,
    output: Linear,
}

impl Model {
    /// With fresh weights.
    pub fn new(device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(64, 64).init(device),
            output: LinearConfig::new(64, 10).init(device),
        }
    }

    fn scores(&self, images: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(images)))
    }

    fn classify(&self, batch: Batch) -> ClassificationOutput {
        let scores = self.scores(batch.images);
        let loss = CrossEntropyLossConfig::new().init(&scores.device());
        let loss = loss.forward(scores.clone(), batch.labels.clone());
        ClassificationOutput::new(loss, scores, batch.labels)
    }
}

impl TrainStep for Model {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> TrainOutput<ClassificationOutput> {
        let output = self.classify(batch);
        TrainOutput::new(self, output.loss.backward(), output)
    }
}

impl InferenceStep for Model {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> ClassificationOutput {
        self.classify(batch)
    }
}

/// Trains for some epochs; the accuracy on the digits for validation. Weights are decayed as AdamW does, biases are not: a selection by
/// rank needs no other parameter, so burn's trait can have it.
pub fn train(digits: &Digits, epochs: usize, device: &Device, dir: &Path) -> f64 {
    let chain = chain((
        clip(1.0),
        adamw(1e-3).weight_decay(1e-2).mask(Leaves::RankAtLeast(2)),
    ));
    let optimizer: ModuleOptimizer = Leafwise::new(chain)
        .expect("it stays inside a parameter")
        .into();
    let [train, valid] = digits.loaders(32);
    let result = SupervisedTraining::new(dir, train, valid)
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .with_default_checkpointers()
        .num_epochs(epochs)
        .launch(Learner::new(
            Model::new(device),
            optimizer,
            ConstantLr::new(3e-3),
        ));
    let valid = digits.valid(&device.clone().inner());
    accuracy(result.model.scores(valid.images), valid.labels)
}
