//! The feed-forward part of a transformer layer.

use burn::module::Module;
use burn::nn::Dropout;
use burn::nn::activation::Activation;
use burn::nn::transformer::{self, PositionWiseFeedForwardConfig};
use burn::tensor::{Device, Tensor};

use super::Linear;

/// Two linear layers with an activation and dropout between them, as [`burn::nn::transformer::PositionWiseFeedForward`].
///
/// The parameters are those of its two [`Linear`] layers, and are held as theirs. The parameters of an activation (PReLU, SwiGLU)
/// are no part of the module, in burn as here: they are neither trained nor saved.
///
/// # Shapes
/// Input and output `[B, .., d_model]`, in between `[B, .., d_ff]`.
///
/// # Example
/// ```
/// use burn::nn::transformer::PositionWiseFeedForwardConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::nn::PositionWiseFeedForward;
///
/// let device = Device::default().autodiff();
/// let layer = PositionWiseFeedForward::new(&PositionWiseFeedForwardConfig::new(4, 8), &device);
/// assert_eq!(layer.forward(Tensor::<3>::zeros([2, 3, 4], &device)).dims(), [2, 3, 4]);
/// ```
#[derive(Module, Debug)]
pub struct PositionWiseFeedForward {
    /// `d_model -> d_ff`.
    pub linear_inner: Linear,
    /// `d_ff -> d_model`.
    pub linear_outer: Linear,
    /// After the activation.
    pub dropout: Dropout,
    /// Between the linear layers.
    #[module(skip)]
    pub activation: Activation,
}

impl PositionWiseFeedForward {
    /// A layer of burn's configuration.
    pub fn new(config: &PositionWiseFeedForwardConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[.., d_model] -> [.., d_model]`.
    ///
    /// # Panics
    /// If the last axis of `input` is not `d_model`, as burn's layer does.
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let x = self.linear_inner.forward(input);
        let x = self.activation.forward(x);
        self.linear_outer.forward(self.dropout.forward(x))
    }
}

impl From<transformer::PositionWiseFeedForward> for PositionWiseFeedForward {
    fn from(layer: transformer::PositionWiseFeedForward) -> Self {
        Self {
            linear_inner: layer.linear_inner.into(),
            linear_outer: layer.linear_outer.into(),
            dropout: layer.dropout,
            activation: layer.activation,
        }
    }
}

impl From<PositionWiseFeedForward> for transformer::PositionWiseFeedForward {
    fn from(layer: PositionWiseFeedForward) -> Self {
        Self {
            linear_inner: layer.linear_inner.into(),
            linear_outer: layer.linear_outer.into(),
            dropout: layer.dropout,
            activation: layer.activation,
        }
    }
}
