//! Two convolutions and two linear layers, for small images.

use burn::module::Module;
use burn::nn::conv::Conv2dConfig;
use burn::nn::{LinearConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use pergrad::nn::{Conv2d, Linear};

use crate::classifier::{Classifier, Seeded};
use crate::digits::Digits;
use crate::random::Random;

/// A convolution to `width` channels, one to twice as many at half the side, and two linear layers, with `8 * width` units between them.
#[derive(Module, Debug)]
pub struct Cnn {
    /// 3x3, to `width` channels.
    pub first: Conv2d,
    /// 3x3, every second pixel, to `2 * width` channels.
    pub second: Conv2d,
    /// To `8 * width` units.
    pub hidden: Linear,
    /// To a score for each class.
    pub output: Linear,
}

impl Classifier for Cnn {
    const NAME: &'static str = "CNN";

    fn new(digits: &Digits, width: usize, seed: u64, device: &Device) -> Self {
        let around = PaddingConfig2d::Explicit(1, 1, 1, 1);
        let first = Conv2dConfig::new([1, width], [3, 3]).with_padding(around.clone());
        let second = Conv2dConfig::new([width, 2 * width], [3, 3]).with_stride([2, 2]);
        let half = digits.side().div_ceil(2);
        let model = Self {
            first: Conv2d::new(&first, device),
            second: Conv2d::new(&second.with_padding(around), device),
            hidden: Linear::new(
                &LinearConfig::new(2 * width * half * half, 8 * width),
                device,
            ),
            output: Linear::new(&LinearConfig::new(8 * width, digits.classes()), device),
        };
        model.map(&mut Seeded(Random::new(seed)))
    }

    fn scores(&self, images: Tensor<4>) -> Tensor<2> {
        let x = relu(self.first.forward(images));
        let x = relu(self.second.forward(x));
        self.output
            .forward(relu(self.hidden.forward(x.flatten(1, 3))))
    }
}
