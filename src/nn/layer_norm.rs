//! Layer normalization.

use burn::module::{Module, Param};
use burn::nn::{self, LayerNormConfig};
use burn::tensor::{DType, Device, Tensor};

use super::affine::Affine;
use super::channels::Features;
use crate::capture::tape;
use crate::error::Error;

/// Layer normalization over the last axis, as [`burn::nn::LayerNorm`].
///
/// # Shapes
/// `gamma [d_model]`, `beta [d_model]`; input and output `[B, .., d_model]`. The axes between the first and the last are tokens.
///
/// # Forms
/// Both are dense, `gamma` `sum_t d * x_hat [B, d_model]` and `beta` `sum_t d [B, d_model]`, where `x_hat` is the normalized input
/// before the scale; both come out of the backward operation of the scale and shift. Per token, they are tokens `[B, T, d_model]`.
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | f16 | normalized, scaled and shifted in f32, as in burn |
/// | all elements of a token equal | `x_hat = 0`: the scale gets gradient zero |
/// | burn's private `epsilon` | kept inside burn's layer, which the conversions carry along |
///
/// # Example
/// ```
/// use burn::nn::LayerNormConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::LayerNorm, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let layer = LayerNorm::new(&LayerNormConfig::new(2), &device);
/// let x = Tensor::<2>::from_floats([[1.0, 3.0], [5.0, 5.0]], &device);
/// let (_, grads) = per_example_grads(&layer, |m| m.forward(x).sum_dim(1).flatten(0, 1)).unwrap();
/// let g = grads.leaf::<2>("gamma").unwrap().into_data().try_to_vec::<f32>().unwrap();
/// assert!((g[0] + 1.0).abs() < 1e-4 && (g[1] - 1.0).abs() < 1e-4 && g[2..] == [0.0, 0.0]);
/// ```
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// The scale, `[d_model]`.
    pub gamma: Param<Tensor<1>>,
    /// The shift, `[d_model]`.
    pub beta: Option<Param<Tensor<1>>>,
    /// burn's layer, for its `epsilon`, which is private. Its own parameters are never read.
    #[module(skip)]
    burn: nn::LayerNorm,
}

impl LayerNorm {
    /// A layer of burn's configuration.
    pub fn new(config: &LayerNormConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[.., d_model] -> [.., d_model]`.
    ///
    /// # Panics
    /// If the last axis of `input` is not `d_model`, as burn's layer does.
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let mut layer = nn::LayerNorm::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(input);
        }
        if D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "LayerNorm" });
            return layer.forward(input);
        }
        let dtype = input.dtype();
        // As burn: the squares of f16 overflow from 256 on. Widened here, the result is not narrowed before the scale.
        let input = match dtype {
            DType::F16 => input.cast(DType::F32),
            _ => input,
        };
        let size = self.gamma.dims();
        let ones = Tensor::ones(size, (&input.device(), input.dtype()));
        layer.gamma = Param::initialized(self.gamma.id, ones);
        layer.beta = None;
        let affine = Affine {
            scale: Some(&self.gamma),
            shift: self.beta.as_ref(),
            features: Features::Last,
        };
        affine.record(layer.forward(input), dtype)
    }
}

impl From<nn::LayerNorm> for LayerNorm {
    fn from(layer: nn::LayerNorm) -> Self {
        Self {
            gamma: layer.gamma.clone(),
            beta: layer.beta.clone(),
            burn: layer,
        }
    }
}

impl From<LayerNorm> for nn::LayerNorm {
    fn from(layer: LayerNorm) -> Self {
        let mut burn = layer.burn;
        burn.gamma = layer.gamma;
        burn.beta = layer.beta;
        burn
    }
}
