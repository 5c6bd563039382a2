//! Layers that can be captured.
//!
//! Each has the fields, the record and the forward pass of the burn layer of the same name, converts from and into it, and
//! outside [`per_example_grads`](crate::per_example_grads) it is that layer. Inside, it records its part of the per-example gradients;
//! the [capture](crate::capture) module tells how.

/// Conversions both ways between a layer of burn's and one of ours that has the same fields.
macro_rules! same_fields {
    ($theirs:ty, $ours:ident { $($field:ident),* }) => {
        impl From<$theirs> for $ours {
            fn from(layer: $theirs) -> Self {
                Self { $($field: layer.$field),* }
            }
        }

        impl From<$ours> for $theirs {
            fn from(layer: $ours) -> Self {
                Self { $($field: layer.$field),* }
            }
        }
    };
}

mod affine;
mod batch_norm;
mod bias;
mod channels;
mod conv1d;
mod conv2d;
mod conv_transpose2d;
mod embedding;
mod gate_controller;
mod group_norm;
mod gru;
mod instance_norm;
mod layer_norm;
mod linear;
mod lstm;
mod multi_head_attention;
mod position_wise_feed_forward;
mod prelu;
mod rms_norm;
mod scale;
mod transformer_encoder;
mod transformer_encoder_layer;
mod untracked;
mod windows;

pub(crate) use windows::Windows;

pub use batch_norm::BatchNorm;
pub use bias::Bias;
pub use conv_transpose2d::ConvTranspose2d;
pub use conv1d::Conv1d;
pub use conv2d::Conv2d;
pub use embedding::Embedding;
pub use gate_controller::GateController;
pub use group_norm::GroupNorm;
pub use gru::Gru;
pub use instance_norm::InstanceNorm;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use lstm::Lstm;
pub use multi_head_attention::{MhaInput, MultiHeadAttention};
pub use position_wise_feed_forward::PositionWiseFeedForward;
pub use prelu::PRelu;
pub use rms_norm::RmsNorm;
pub use scale::Scale;
pub use transformer_encoder::{TransformerEncoder, TransformerEncoderInput};
pub use transformer_encoder_layer::TransformerEncoderLayer;
