//! Activation functions by name.

use burn::tensor::{Tensor, activation};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Activation {
    /// The exact one, by the error function.
    Gelu,
    Identity,
    Relu,
    Sigmoid,
    Silu,
    Tanh,
}

impl Activation {
    pub(crate) fn forward<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Gelu => activation::gelu(x),
            Self::Identity => x,
            Self::Relu => activation::relu(x),
            Self::Sigmoid => activation::sigmoid(x),
            Self::Silu => activation::silu(x),
            Self::Tanh => activation::tanh(x),
        }
    }
}
