//! Batch normalization, as far as examples can be told apart behind it.

use burn::module::{Flag, Module, Param, RunningState};
use burn::nn::{self, BatchNormConfig};
use burn::tensor::{Device, Tensor};

use super::affine::Affine;
use super::channels::Features;
use crate::capture::tape;
use crate::error::Error;

/// Batch normalization, as [`burn::nn::BatchNorm`]; captured in evaluation mode only.
///
/// In training mode the statistics of the batch mix the examples: the gradient of one loss at one input depends on all of them, so
/// no example has a gradient of its own. A capture refuses it by name. Ways out: `norm.freeze()`; `norm.training =
/// Param::from_bool(false)`, which trains scale and shift behind the running statistics; or [`GroupNorm`](super::GroupNorm),
/// [`LayerNorm`](super::LayerNorm), [`InstanceNorm`](super::InstanceNorm).
///
/// # Shapes
/// `gamma [num_features]`, `beta [num_features]`; input and output `[B, num_features, ..]`. The axes after the features are tokens.
///
/// # Forms
/// Both are dense, `gamma` `sum_t d * x_hat [B, num_features]` and `beta` `sum_t d [B, num_features]`; both come out of the backward
/// operation of the scale and shift. Per token, they are tokens `[B, T, num_features]`.
///
/// # Errors
/// In training mode [`per_example_grads`](crate::per_example_grads) returns [`Error::MixesExamples`]. The running statistics stay as
/// they were.
///
/// # Example
/// ```
/// use burn::module::Param;
/// use burn::nn::BatchNormConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::BatchNorm, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let mut layer = BatchNorm::new(&BatchNormConfig::new(1), &device);
/// let x = Tensor::<2>::from_floats([[1.0], [2.0]], &device);
/// let losses = |m: &BatchNorm| m.forward(x.clone()).reshape([2]);
/// let error = per_example_grads(&layer, losses).unwrap_err();
/// assert!(error.to_string().starts_with("`BatchNorm` is in training mode"));
///
/// layer.training = Param::from_bool(false);
/// let (_, grads) = per_example_grads(&layer, losses).unwrap();
/// let g = grads.leaf::<2>("beta").unwrap();
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [1.0, 1.0]);
/// ```
#[derive(Module, Debug)]
pub struct BatchNorm {
    /// The scale, `[num_features]`.
    pub gamma: Param<Tensor<1>>,
    /// The shift, `[num_features]`.
    pub beta: Param<Tensor<1>>,
    /// Whether the statistics of the batch are used (with autodiff), or the running ones.
    pub training: Param<Flag>,
    /// The running mean.
    pub running_mean: RunningState<Tensor<1>>,
    /// The running variance.
    pub running_var: RunningState<Tensor<1>>,
    /// The weight of a new batch in the running statistics.
    pub momentum: f64,
    /// Added to the variance.
    pub epsilon: f64,
}

impl BatchNorm {
    /// A layer of burn's configuration.
    pub fn new(config: &BatchNormConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[B, num_features, ..] -> [B, num_features, ..]`.
    ///
    /// # Panics
    /// If the features do not fit, as burn's layer does.
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let mut layer = nn::BatchNorm::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(input);
        }
        if self.training.is_enabled() && input.device().is_autodiff() {
            tape::fail(Error::MixesExamples { layer: "BatchNorm" });
        }
        layer.training = Param::from_bool(false);
        let (size, dtype) = (self.gamma.dims(), input.dtype());
        let options = (&input.device(), dtype);
        layer.gamma = Param::initialized(self.gamma.id, Tensor::ones(size, options));
        layer.beta = Param::initialized(self.beta.id, Tensor::zeros(size, options));
        let affine = Affine {
            scale: Some(&self.gamma),
            shift: Some(&self.beta),
            features: Features::Second,
        };
        affine.record(layer.forward(input), dtype)
    }
}

same_fields!(
    nn::BatchNorm,
    BatchNorm {
        gamma,
        beta,
        training,
        running_mean,
        running_var,
        momentum,
        epsilon
    }
);
