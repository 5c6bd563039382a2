//! Root mean square normalization.

use burn::module::{Module, Param};
use burn::nn::{self, RmsNormConfig};
use burn::tensor::{Device, Tensor};

use super::affine::Affine;
use super::channels::Features;
use crate::capture::tape;
use crate::error::Error;

/// `x / sqrt(mean(x^2) + epsilon) * gamma` over the last axis, as [`burn::nn::RmsNorm`].
///
/// # Shapes
/// `gamma [d_model]`; input and output `[B, .., d_model]`. The axes between the first and the last are tokens.
///
/// # Forms
/// `gamma` is dense, `sum_t d * x_hat [B, d_model]`, and comes out of the backward operation of the scale; per token, it is tokens
/// `[B, T, d_model]`.
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | f16, bf16, f64 | the root mean square is taken in f32, as in burn; in f64 it is right to f32 only |
/// | a token of zeros | `x_hat = 0`: gradient zero |
///
/// # Example
/// ```
/// use burn::nn::RmsNormConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::RmsNorm, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let layer = RmsNorm::new(&RmsNormConfig::new(2), &device);
/// let x = Tensor::<2>::from_floats([[2.0, 2.0], [0.0, 0.0]], &device);
/// let (_, grads) = per_example_grads(&layer, |m| m.forward(x).sum_dim(1).flatten(0, 1)).unwrap();
/// let g = grads.leaf::<2>("gamma").unwrap().into_data().try_to_vec::<f32>().unwrap();
/// assert!((g[0] - 1.0).abs() < 1e-5 && g[0] == g[1] && g[2..] == [0.0, 0.0]);
/// ```
#[derive(Module, Debug)]
pub struct RmsNorm {
    /// The scale, `[d_model]`.
    pub gamma: Param<Tensor<1>>,
    /// Added to the mean square.
    pub epsilon: f64,
}

impl RmsNorm {
    /// A layer of burn's configuration.
    pub fn new(config: &RmsNormConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[.., d_model] -> [.., d_model]`.
    ///
    /// # Panics
    /// If the last axis of `x` is not `d_model`, as burn's layer does.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let mut layer = nn::RmsNorm::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(x);
        }
        if D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "RmsNorm" });
            return layer.forward(x);
        }
        let dtype = x.dtype();
        let ones = Tensor::ones(self.gamma.dims(), (&x.device(), dtype));
        layer.gamma = Param::initialized(self.gamma.id, ones);
        let affine = Affine {
            scale: Some(&self.gamma),
            shift: None,
            features: Features::Last,
        };
        affine.record(layer.forward(x), dtype)
    }
}

same_fields!(nn::RmsNorm, RmsNorm { gamma, epsilon });
