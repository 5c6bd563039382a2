//! One layer of a transformer encoder.

use burn::module::Module;
use burn::nn::Dropout;
use burn::nn::transformer::{self, TransformerEncoderConfig};
use burn::tensor::{Bool, Device, Tensor};

use super::{LayerNorm, MhaInput, MultiHeadAttention, PositionWiseFeedForward};

/// Attention and feed-forward with their residual paths, as [`burn::nn::transformer::TransformerEncoderLayer`].
///
/// The parameters are held as those of the layers it is built of.
///
/// # Shapes
/// Input and output `[B, T, d_model]`.
///
/// # Example
/// ```
/// use burn::nn::transformer::TransformerEncoderConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::nn::TransformerEncoderLayer;
///
/// let device = Device::default().autodiff();
/// let layer = TransformerEncoderLayer::new(&TransformerEncoderConfig::new(4, 8, 2, 1), &device);
/// let x = Tensor::<3>::zeros([2, 3, 4], &device);
/// assert_eq!(layer.forward(x, None, None).dims(), [2, 3, 4]);
/// ```
#[derive(Module, Debug)]
pub struct TransformerEncoderLayer {
    /// The attention.
    pub mha: MultiHeadAttention,
    /// The feed-forward part.
    pub pwff: PositionWiseFeedForward,
    /// Around the feed-forward part.
    pub norm_1: LayerNorm,
    /// Around the attention.
    pub norm_2: LayerNorm,
    /// Of both residual paths.
    pub dropout: Dropout,
    /// Normalize before the parts, not after them.
    pub norm_first: bool,
}

impl TransformerEncoderLayer {
    /// A layer of burn's configuration.
    pub fn new(config: &TransformerEncoderConfig, device: &Device) -> Self {
        transformer::TransformerEncoderLayer::new(config, device).into()
    }

    /// The forward pass, `[B, T, d_model] -> [B, T, d_model]`; masks as in [`MhaInput`].
    pub fn forward(
        &self,
        input: Tensor<3>,
        mask_pad: Option<Tensor<2, Bool>>,
        mask_attn: Option<Tensor<3, Bool>>,
    ) -> Tensor<3> {
        let attend = |x: Tensor<3>| {
            let mut input = MhaInput::self_attn(x);
            if let Some(mask) = mask_pad {
                input = input.mask_pad(mask);
            }
            if let Some(mask) = mask_attn {
                input = input.mask_attn(mask);
            }
            self.dropout.forward(self.mha.forward(input).context)
        };
        let feed = |x: Tensor<3>| self.dropout.forward(self.pwff.forward(x));
        if self.norm_first {
            let x = input.clone() + attend(self.norm_2.forward(input));
            x.clone() + feed(self.norm_1.forward(x))
        } else {
            let x = self.norm_1.forward(input.clone() + attend(input));
            self.norm_2.forward(x.clone() + feed(x))
        }
    }
}

impl From<transformer::TransformerEncoderLayer> for TransformerEncoderLayer {
    fn from(layer: transformer::TransformerEncoderLayer) -> Self {
        Self {
            mha: layer.mha.into(),
            pwff: layer.pwff.into(),
            norm_1: layer.norm_1.into(),
            norm_2: layer.norm_2.into(),
            dropout: layer.dropout,
            norm_first: layer.norm_first,
        }
    }
}

impl From<TransformerEncoderLayer> for transformer::TransformerEncoderLayer {
    fn from(layer: TransformerEncoderLayer) -> Self {
        Self {
            mha: layer.mha.into(),
            pwff: layer.pwff.into(),
            norm_1: layer.norm_1.into(),
            norm_2: layer.norm_2.into(),
            dropout: layer.dropout,
            norm_first: layer.norm_first,
        }
    }
}
