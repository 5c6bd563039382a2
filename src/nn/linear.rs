//! The linear layer.

use burn::module::{Module, Param};
use burn::nn::{self, LinearConfig};
use burn::tensor::module::linear;
use burn::tensor::{Device, Tensor};

use crate::capture::tape;
use crate::error::Error;

/// `x W + b`, as [`burn::nn::Linear`].
///
/// # Shapes
/// `weight [d_input, d_output]`, `bias [d_output]`; input `[B, .., d_input]`, output `[B, .., d_output]`. While gradients are
/// captured the input needs its batch axis; the axes between the first and the last are tokens of one example.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::nn::Linear;
///
/// let device = Device::default().autodiff();
/// let layer = Linear::new(&LinearConfig::new(3, 2), &device);
/// assert_eq!(layer.forward(Tensor::<2>::zeros([5, 3], &device)).dims(), [5, 2]);
/// let back: burn::nn::Linear = layer.into();
/// ```
#[derive(Module, Debug)]
pub struct Linear {
    /// `[d_input, d_output]`.
    pub weight: Param<Tensor<2>>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
}

impl Linear {
    /// A layer of burn's configuration.
    pub fn new(config: &LinearConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[.., d_input] -> [.., d_output]`.
    ///
    /// # Panics
    /// If the last axis of `input` is not `d_input`, as burn's layer does.
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let weight = self.weight.val();
        let bias = self.bias.as_ref().map(Param::val);
        if !tape::is_recording() {
            return linear(input, weight, bias);
        }
        if D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "Linear" });
            return linear(input, weight, bias);
        }
        let trained_bias = self.bias.as_ref().filter(|b| b.is_require_grad());
        let trained_weight = Some(&self.weight).filter(|w| w.is_require_grad());
        let a = input.clone().inner();
        let z = linear(input, weight.inner(), bias.map(Tensor::inner));
        tape::linear(z, a, trained_weight, trained_bias)
    }
}

impl From<nn::Linear> for Linear {
    fn from(layer: nn::Linear) -> Self {
        Self {
            weight: layer.weight,
            bias: layer.bias,
        }
    }
}

impl From<Linear> for nn::Linear {
    fn from(layer: Linear) -> Self {
        Self {
            weight: layer.weight,
            bias: layer.bias,
        }
    }
}
