//! The list of operations.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, backend_extension};

/// What pergrad needs of a backend beyond burn's own operations.
#[backend_extension(Flex: cfg(feature = "flex"), Autodiff)]
pub(crate) trait GradOps: Backend {
    /// The identity on `x`. With autodiff, the gradient at the output reaches both `x` and `sink`.
    fn tap(x: FloatTensor<Self>, sink: FloatTensor<Self>) -> FloatTensor<Self>;
}
