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

/// Passes `x` through; in the backward pass the gradient at this place is also given to `sink`, a leaf of any shape.
pub(crate) fn tap<const D: usize>(x: Tensor<D>, sink: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(Dispatch::tap(x.into_dispatch(), sink.into_dispatch()))
}
