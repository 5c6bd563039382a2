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
