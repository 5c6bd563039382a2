//! A chain with values across leaves, over per-example gradients, by the model's own `optimize`.
//!
//! burn-train calls `step` with a shared model, for gradients, and then `optimize`, for the update. What passes between the two is
//! burn's `GradientsParams`, which have no batch axis; so the per-example gradients pass by a field of the model that is no parameter,
//! beside the optimizer with its state. The scheduler's learning rate becomes the chain's.

use std::path::Path;
use std::sync::{Arc, Mutex};

use burn::nn::LinearConfig;
use burn::optim::lr_scheduler::constant::ConstantLr;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{GradientsParams, ModuleOptimizer, SgdConfig};
use burn::prelude::*;
use burn::tensor::activation::{log_softmax, relu};
use burn::train::metric::{AccuracyMetric, LossMetric};
use burn::train::{
    ClassificationOutput, InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep,
};
use pergrad::nn::Linear;
use pergrad::prelude::*;
use pergrad::{Optimizer, PerExampleGrads, per_example_grads};

use crate::digits::{Batch, Digits, accuracy};

/// The optimizer, and the gradients on their way to it.
#[derive(Debug)]
struct Stepper {
    optimizer: Optimizer,
    grads: Option<PerExampleGrads>,
}

/// Two of pergrad's layers, so that per-example gradients can be captured.
#[derive(Module, Debug)]
pub struct Model {
    hidden: Linear,
    output: Linear,
    #[module(skip)]
    stepper: Arc<Mutex<Stepper>>,
}

impl Model {
    /// With fresh weights, and the optimizer it is trained by.
    pub fn new(optimizer: Optimizer, device: &Device) -> Self {
        let stepper = Stepper {
            optimizer,
            grads: None,
        };
        Self {
            hidden: Linear::new(&LinearConfig::new(64, 64), device),
            output: Linear::new(&LinearConfig::new(64, 10), device),
            stepper: Arc::new(Mutex::new(stepper)),
        }
    }

    fn scores(&self, images: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(images)))
    }
}

/// One loss for each example.
fn losses(scores: Tensor<2>, labels: Tensor<1, Int>) -> Tensor<1> {
    -log_softmax(scores, 1)
        .gather(1, labels.unsqueeze_dim(1))
        .flatten(0, 1)
}

impl TrainStep for Model {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> TrainOutput<ClassificationOutput> {
        let labels = batch.labels.clone();
        let mut scores = None;
        let (losses, grads) = per_example_grads(self, |model| {
            let output = model.scores(batch.images);
            scores = Some(output.clone());
            losses(output, batch.labels)
        })
        .expect("every parameter is in one of pergrad's layers");
        self.stepper.lock().expect("no panic").grads = Some(grads);
        let scores = scores.expect("the closure ran");
        TrainOutput {
            grads: GradientsParams::new(),
            item: ClassificationOutput::new(losses.mean(), scores, labels),
        }
    }

    fn optimize(
        self,
        _: &mut ModuleOptimizer,
        rate: ModuleLearningRate,
        _: GradientsParams,
    ) -> Self {
        let stepper = self.stepper.clone();
        let mut stepper = stepper.lock().expect("no panic");
        let grads = stepper.grads.take().expect("`step` comes first");
        let optimizer = &mut stepper.optimizer;
        optimizer
            .set_hyper("learning_rate", rate.base())
            .expect("the chain has a learning rate");
        optimizer
            .step(self, grads)
            .unwrap_or_else(|rejected| panic!("{rejected}"))
    }
}

impl InferenceStep for Model {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> ClassificationOutput {
        let scores = self.scores(batch.images);
        let loss = losses(scores.clone(), batch.labels.clone()).mean();
        ClassificationOutput::new(loss, scores, batch.labels)
    }
}

/// Trains for some epochs; the accuracy on the digits for validation, and how many examples the last step clipped.
///
/// burn-train's checkpoints hold the model. The optimizer's state is saved beside them by [`Optimizer::record`].
pub fn train(digits: &Digits, epochs: usize, device: &Device, dir: &Path) -> (f64, f64) {
    // The norms of the examples go over all leaves: burn's trait cannot say this.
    let chain = chain((clip_per_example(1.0), micro_adam(1e-3)));
    let optimizer = Optimizer::new(chain).expect("the arguments make sense");
    let [train, valid] = digits.loaders(32);
    let result = SupervisedTraining::new(dir, train, valid)
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .num_epochs(epochs)
        .launch(Learner::new(
            Model::new(optimizer, device),
            // Never asked: the model steps itself.
            SgdConfig::new().init(),
            ConstantLr::new(3e-3),
        ));
    let metrics = {
        let stepper = result.model.stepper.lock().expect("no panic");
        stepper.optimizer.metrics().expect("the device can be read")
    };
    let clipped = metrics["clip_per_example.num_clipped"][0];
    let valid = digits.valid(&device.clone().inner());
    let scores = result.model.scores(valid.images);
    (accuracy(scores, valid.labels), clipped)
}
