//! The list of operations.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, backend_extension};
use burn::tensor::DType;

/// What pergrad needs of a backend beyond burn's own operations.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "cube"),
    Autodiff
)]
pub(crate) trait GradOps: Backend {
    /// The identity on `x`. With autodiff, the gradient at the output goes on to `x`, and is announced as the arrival `ticket`.
    /// `anchor` is a tracked tensor of any shape: it makes the output tracked where `x` is not.
    #[fusion(default)]
    fn tap(x: FloatTensor<Self>, anchor: FloatTensor<Self>, ticket: u64) -> FloatTensor<Self> {
        let _ = (anchor, ticket);
        x
    }

    /// `x * scale + shift`, of `x [B, T, F]` with parameters `[1, 1, F]`, or of `x [B, F, T]` with parameters `[1, F, 1]`. With
    /// autodiff, one backward operation gives the gradient of `x`, and announces the gradients of each example's scale and shift,
    /// both `[B, F]`, as the arrival `ticket`.
    #[fusion(default)]
    fn affine(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        anchor: FloatTensor<Self>,
        ticket: u64,
    ) -> FloatTensor<Self> {
        let _ = (anchor, ticket);
        Self::float_add(Self::float_mul(x, scale), shift)
    }
}

/// What the backward passes need of a backend.
pub(crate) trait BackwardOps: Backend {
    /// Of [`GradOps::affine`], from the gradient `d` at its output: the gradient of `x`, and those of each example's scale and shift, in
    /// f32 where `x` is in half precision.
    fn affine_backward(
        d: FloatTensor<Self>,
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
    ) -> [FloatTensor<Self>; 3] {
        use burn::backend::TensorMetadata;
        let examples = x.shape()[0];
        let scale_shape = scale.shape();
        let tokens = if scale_shape[1] == 1 { 1 } else { 2 };
        let features = scale_shape[1] * scale_shape[2];
        let sum = |x: FloatTensor<Self>| {
            let x = match x.dtype() {
                DType::F16 | DType::BF16 => Self::float_cast(x, DType::F32.into()),
                _ => x,
            };
            let sum = Self::float_sum_dim(x, tokens);
            Self::float_reshape(sum, [examples, features].into())
        };
        let scales = sum(Self::float_mul(d.clone(), x));
        let shifts = sum(d.clone());
        [Self::float_mul(d, scale), scales, shifts]
    }
}
