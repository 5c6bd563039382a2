//! Two linear layers.

use burn::module::Module;
use burn::nn::LinearConfig;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use pergrad::nn::Linear;

use crate::classifier::{Classifier, Seeded};
use crate::digits::Digits;
use crate::random::Random;

/// Two linear layers, with `8 * width` units between them.
#[derive(Module, Debug)]
pub struct Mlp {
    /// To `8 * width` units.
    pub hidden: Linear,
    /// To a score for each class.
    pub output: Linear,
}

impl Classifier for Mlp {
    const NAME: &'static str = "MLP";

    fn new(digits: &Digits, width: usize, seed: u64, device: &Device) -> Self {
        let inputs = digits.side() * digits.side();
        let model = Self {
            hidden: Linear::new(&LinearConfig::new(inputs, 8 * width), device),
            output: Linear::new(&LinearConfig::new(8 * width, digits.classes()), device),
        };
        model.map(&mut Seeded(Random::new(seed)))
    }

    fn scores(&self, images: Tensor<4>) -> Tensor<2> {
        let x = relu(self.hidden.forward(images.flatten(1, 3)));
        self.output.forward(x)
    }
}
