//! The operations that burn does not have, as a backend extension.
//!
//! [`ops`] is the list; each backend has its file. They are called through burn's `Dispatch`, so a tensor finds its backend
//! at run time.

mod autodiff;
#[cfg(feature = "flex")]
mod flex;
mod ops;

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use ops::GradOps;

/// Passes `x` through; in the backward pass the gradient at this place is announced as the arrival `ticket`. `anchor` is a tracked
/// tensor of any shape.
pub(crate) fn tap<const D: usize>(x: Tensor<D>, anchor: Tensor<D>, ticket: u64) -> Tensor<D> {
    let (x, anchor) = (x.into_dispatch(), anchor.into_dispatch());
    Tensor::from_dispatch(Dispatch::tap(x, anchor, ticket))
}

/// `x * scale + shift` of `x [B, T, F]` with parameters `[1, 1, F]`, or of `x [B, F, T]` with parameters `[1, F, 1]`, none of them
/// tracked; in the backward pass the gradients `[B, F]` of each example's scale and shift are announced as the arrival `ticket`.
pub(crate) fn affine(
    x: Tensor<3>,
    scale: Tensor<3>,
    shift: Tensor<3>,
    anchor: Tensor<3>,
    ticket: u64,
) -> Tensor<3> {
    let (x, anchor) = (x.into_dispatch(), anchor.into_dispatch());
    let (scale, shift) = (scale.into_dispatch(), shift.into_dispatch());
    Tensor::from_dispatch(Dispatch::affine(x, scale, shift, anchor, ticket))
}
