//! What an optimizer is, and what its last step did.

use std::collections::BTreeMap;

use pergrad_transforms::{Axis, Hyper, Program};

use super::Optimizer;
use crate::capture::numbers;
use crate::error::Error;

impl<In: Axis> Optimizer<In> {
    /// The program the chain was traced into; `Display` gives its text.
    pub fn program(&self) -> &Program {
        self.engine.program()
    }

    /// What the last step did, and how: for each leaf which operations of the [program](Self::program) ran together in one pass over it,
    /// how many tensors and bytes that pass read and wrote, and what was taken from factors. Empty before the first step.
    ///
    /// # Example
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::optim::GradientsParams;
    /// use burn::tensor::{Device, Tensor};
    /// use pergrad::prelude::*;
    ///
    /// let device = Device::default().autodiff();
    /// let model = LinearConfig::new(3, 1).with_bias(false).init(&device);
    /// let grads = model.forward(Tensor::<2>::ones([8, 3], &device)).mean().backward();
    /// let grads = GradientsParams::from_grads(grads, &model);
    /// let mut optimizer = pergrad::Optimizer::aggregated(adam(0.1)).unwrap();
    /// optimizer.step(model, grads).unwrap();
    /// assert!(optimizer.explain().contains("leaf `weight` [3, 1], gradients in full\n  one pass, reads 4 (48 B), writes 3 (36 B)"));
    /// ```
    pub fn explain(&self) -> String {
        self.engine.explain().unwrap_or_default()
    }

    /// In how many passes over leaves the last step was computed: one for each leaf, where nothing crosses leaves and the device runs
    /// [kernels](crate#the-map-of-the-house).
    pub fn passes(&self) -> usize {
        self.engine.passes()
    }

    /// How many steps have been taken.
    pub fn steps_taken(&self) -> u64 {
        self.engine.steps_taken()
    }

    /// The value that a hyper-parameter will have at the coming step.
    ///
    /// # Errors
    /// An unknown name; the message lists those that exist.
    pub fn hyper(&self, name: &str) -> Result<f64, Error> {
        self.engine.hyper(name)
    }

    /// Sets a hyper-parameter, to a number or a schedule of the step count, from the coming step on.
    ///
    /// # Errors
    /// An unknown name, or a value that makes no sense; then nothing has changed.
    pub fn set_hyper(&mut self, name: &str, value: impl Into<Hyper>) -> Result<(), Error> {
        self.engine.set_hyper(name, value.into())
    }

    /// The metrics of the last step by name: one number, or one for each leaf, element, example, pair of examples, or several of these
    /// (leaves outermost, then examples). Reads them back from the device.
    ///
    /// # Errors
    /// A device that cannot be read.
    pub fn metrics(&self) -> Result<BTreeMap<String, Vec<f64>>, Error> {
        let metrics = self.metrics.iter().map(|(name, cells)| {
            let mut values = Vec::new();
            for cell in cells {
                values.extend(numbers(cell.to_data())?);
            }
            Ok((name.clone(), values))
        });
        metrics.collect()
    }
}
