//! The list of operations.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, backend_extension};

/// What pergrad needs of a backend beyond burn's own operations.
#[backend_extension(Flex: cfg(feature = "flex"), Autodiff)]
pub(crate) trait GradOps: Backend {
    /// The identity on `x`. With autodiff, the gradient at the output goes on to `x`, and is announced as the arrival `ticket`.
    /// `anchor` is a tracked tensor of any shape: it makes the output tracked where `x` is not.
    fn tap(x: FloatTensor<Self>, anchor: FloatTensor<Self>, ticket: u64) -> FloatTensor<Self>;
}
