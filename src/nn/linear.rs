//! The linear layer.

use burn::module::{Module, Param};
use burn::nn::{self, LinearConfig};
use burn::tensor::module::linear;
use burn::tensor::{Device, Tensor, assert_shape};

use super::untracked::{trained, untracked};
use crate::capture::tape::{self, Use, by_token};
use crate::error::Error;
use crate::grads::form::Form;

/// `x W + b`, as [`burn::nn::Linear`].
///
/// # Shapes
/// `weight [d_input, d_output]`, `bias [d_output]`; input `[B, .., d_input]`, output `[B, .., d_output]`. While gradients are
/// captured the input needs its batch axis; the axes between the first and the last are tokens of one example.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor, assert_shape};
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
        let [d_input, _] = weight.dims();
        assert_shape!(input, [.., d_input]);
        let bias = self.bias.as_ref().map(Param::val);
        if !tape::is_recording() {
            return forward(input, weight, bias);
        }
        if D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "Linear" });
            return linear(input, weight, bias);
        }
        let device = self.weight.val().device();
        let mut uses = Vec::new();
        if trained(Some(&self.weight)).is_some() {
            let left = by_token(input.clone().inner());
            uses.push(Use::new(&self.weight, move |d| Form::Outer {
                left,
                right: by_token(d),
            }));
        }
        if let Some(bias) = trained(self.bias.as_ref()) {
            uses.push(Use::new(bias, |d| Form::Tokens(by_token(d))));
        }
        let weight = untracked(&self.weight).val();
        let bias = self.bias.as_ref().map(|bias| untracked(bias).val());
        tape::record(forward(input, weight, bias), device, uses)
    }
}

/// burn's `linear`, which does not survive an empty batch of more than two axes on Flex.
fn forward<const D: usize>(
    input: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    let mut shape = input.dims();
    if shape.contains(&0) {
        shape[D - 1] = weight.dims()[1];
        return Tensor::zeros(shape, (&input.device(), input.dtype()));
    }
    linear(input, weight, bias)
}

same_fields!(nn::Linear, Linear { weight, bias });
