//! Instance normalization.

use burn::module::{Module, Param};
use burn::nn::{self, InstanceNormConfig};
use burn::tensor::{Device, Tensor};

use super::affine::Affine;
use super::channels::Features;
use crate::capture::tape;

/// Normalization over each channel of one example, as [`burn::nn::InstanceNorm`].
///
/// # Shapes
/// `gamma [num_channels]`, `beta [num_channels]`; input and output `[B, num_channels, ..]`. The axes after the channels are tokens.
///
/// # Forms
/// Both are dense, `gamma` `sum_t d * x_hat [B, num_channels]` and `beta` `sum_t d [B, num_channels]`; both come out of the backward
/// operation of the scale and shift. Per token, they are tokens `[B, T, num_channels]`.
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | f16 | normalized in f32, scaled and shifted in f16, as in burn |
/// | `affine` off | no parameters: it is burn's layer |
/// | an input of at most two elements, an empty batch too | panics, as burn's layer does |
///
/// # Example
/// ```
/// use burn::nn::InstanceNormConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::{check_per_example_grads, nn::InstanceNorm};
///
/// let device = Device::default().autodiff();
/// let layer = InstanceNorm::new(&InstanceNormConfig::new(4), &device);
/// let x = Tensor::<3>::random([3, 4, 5], Distribution::Default, &device);
/// let losses = |m: &InstanceNorm, b: std::ops::Range<usize>| {
///     let y = m.forward(x.clone().slice([b])).powi_scalar(3);
///     y.flatten::<2>(1, 2).sum_dim(1).flatten(0, 1)
/// };
/// check_per_example_grads(&layer, 3, losses, 1e-4).unwrap();
/// ```
#[derive(Module, Debug)]
pub struct InstanceNorm {
    /// The scale, `[num_channels]`.
    pub gamma: Option<Param<Tensor<1>>>,
    /// The shift, `[num_channels]`.
    pub beta: Option<Param<Tensor<1>>>,
    /// The number of channels.
    pub num_channels: usize,
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether scale and shift are used.
    pub affine: bool,
}

impl InstanceNorm {
    /// A layer of burn's configuration.
    pub fn new(config: &InstanceNormConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[B, num_channels, ..] -> [B, num_channels, ..]`.
    ///
    /// # Panics
    /// If the channels do not fit, as burn's layer does.
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let mut layer = nn::InstanceNorm::from(self.clone());
        let whole = self.gamma.is_some() && self.beta.is_some();
        if !tape::is_recording() || !self.affine || !whole {
            return layer.forward(input);
        }
        layer.affine = false;
        let affine = Affine {
            scale: self.gamma.as_ref(),
            shift: self.beta.as_ref(),
            features: Features::Second,
        };
        let dtype = input.dtype();
        affine.record(layer.forward(input), dtype)
    }
}

same_fields!(
    nn::InstanceNorm,
    InstanceNorm {
        gamma,
        beta,
        num_channels,
        epsilon,
        affine
    }
);
