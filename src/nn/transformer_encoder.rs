//! The transformer encoder.

use burn::module::Module;
use burn::nn::transformer::{self, TransformerEncoderConfig};
use burn::tensor::{Bool, Device, Tensor};

use super::TransformerEncoderLayer;

/// A stack of [`TransformerEncoderLayer`]s, as [`burn::nn::transformer::TransformerEncoder`].
///
/// burn's pass with a cache, for decoding token by token, is not offered: convert into burn's module for that.
///
/// # Shapes
/// Input and output `[B, T, d_model]`.
///
/// # Example
/// ```
/// use burn::nn::transformer::TransformerEncoderConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::nn::{TransformerEncoder, TransformerEncoderInput};
/// use pergrad::check_per_example_grads;
///
/// let device = Device::default().autodiff();
/// let config = TransformerEncoderConfig::new(4, 8, 2, 2).with_dropout(0.0).with_norm_first(true);
/// let model = TransformerEncoder::new(&config, &device);
/// let x = Tensor::<3>::random([2, 3, 4], Distribution::Default, &device);
/// let losses = |m: &TransformerEncoder, b: std::ops::Range<usize>| {
///     let y = m.forward(TransformerEncoderInput::new(x.clone().slice([b])));
///     (y.clone() * y).flatten::<2>(1, 2).sum_dim(1).flatten(0, 1)
/// };
/// check_per_example_grads(&model, 2, losses, 1e-4).unwrap();
/// ```
#[derive(Module, Debug)]
pub struct TransformerEncoder {
    /// The layers, in the order in which they run.
    pub layers: Vec<TransformerEncoderLayer>,
    /// The size of the model.
    pub d_model: usize,
    /// The inner size of the feed-forward parts.
    pub d_ff: usize,
    /// The number of heads.
    pub n_heads: usize,
    /// The number of layers.
    pub n_layers: usize,
    /// The dropout rate.
    pub dropout: f64,
    /// Normalize before the parts, not after them.
    pub norm_first: bool,
    /// Softmax with a 1 more in the denominator.
    pub quiet_softmax: bool,
}

/// What [`TransformerEncoder`] looks at. burn's type of this name keeps its fields to itself.
#[derive(Clone, Debug)]
pub struct TransformerEncoderInput {
    tensor: Tensor<3>,
    mask_pad: Option<Tensor<2, Bool>>,
    mask_attn: Option<Tensor<3, Bool>>,
}

impl TransformerEncoderInput {
    /// `[B, T, d_model]`.
    pub fn new(tensor: Tensor<3>) -> Self {
        Self {
            tensor,
            mask_pad: None,
            mask_attn: None,
        }
    }

    /// The tokens not to look at, `[B, T]`.
    #[must_use]
    pub fn mask_pad(mut self, mask_pad: Tensor<2, Bool>) -> Self {
        self.mask_pad = Some(mask_pad);
        self
    }

    /// The tokens that a token may not look at, `[B, T, T]`.
    #[must_use]
    pub fn mask_attn(mut self, mask_attn: Tensor<3, Bool>) -> Self {
        self.mask_attn = Some(mask_attn);
        self
    }
}

impl TransformerEncoder {
    /// A model of burn's configuration.
    pub fn new(config: &TransformerEncoderConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[B, T, d_model] -> [B, T, d_model]`.
    pub fn forward(&self, input: TransformerEncoderInput) -> Tensor<3> {
        let TransformerEncoderInput {
            tensor,
            mask_pad,
            mask_attn,
        } = input;
        let layers = self.layers.iter();
        layers.fold(tensor, |x, layer| {
            layer.forward(x, mask_pad.clone(), mask_attn.clone())
        })
    }
}

impl From<transformer::TransformerEncoder> for TransformerEncoder {
    fn from(model: transformer::TransformerEncoder) -> Self {
        Self {
            layers: model.layers.into_iter().map(Into::into).collect(),
            d_model: model.d_model,
            d_ff: model.d_ff,
            n_heads: model.n_heads,
            n_layers: model.n_layers,
            dropout: model.dropout,
            norm_first: model.norm_first,
            quiet_softmax: model.quiet_softmax,
        }
    }
}

impl From<TransformerEncoder> for transformer::TransformerEncoder {
    fn from(model: TransformerEncoder) -> Self {
        Self {
            layers: model.layers.into_iter().map(Into::into).collect(),
            d_model: model.d_model,
            d_ff: model.d_ff,
            n_heads: model.n_heads,
            n_layers: model.n_layers,
            dropout: model.dropout,
            norm_first: model.norm_first,
            quiet_softmax: model.quiet_softmax,
        }
    }
}
