//! The operations that burn does not have, as a backend extension.
//!
//! [`ops`] is the list; each backend has its file. They are called through burn's `Dispatch`, so a tensor finds its backend
//! at run time.

mod autodiff;
#[cfg(feature = "flex")]
mod flex;
mod ops;

use burn::backend::{Dispatch, DispatchTensorKind};
use burn::tensor::{DType, Int, Tensor};

use crate::kernel::Kernel;
use crate::nn::Windows;
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

/// Whether the backend of a tensor has pergrad's operations, kernels too.
pub(crate) fn has_operations(x: &Tensor<2>) -> bool {
    match x.clone().into_dispatch().kind {
        #[cfg(feature = "flex")]
        DispatchTensorKind::Flex(_) => true,
        #[allow(unreachable_patterns)] // with one backend there is one kind
        _ => false,
    }
}

/// Runs a kernel over B examples and P columns, neither of them 0, of inputs of one dtype, f32 or f64, on a backend that does.
pub(crate) fn run_kernel(
    kernel: &Kernel,
    scalars: &[f64],
    inputs: Vec<Tensor<2>>,
    sides: [usize; 2],
    dtype: DType,
) -> Vec<Tensor<2>> {
    #[cfg(feature = "flex")]
    {
        let inputs = inputs.into_iter().map(to_flex);
        let inputs = inputs.map(|input| input.expect("asked before").float());
        let outputs = flex::kernel::run(kernel, scalars, inputs.collect(), sides, dtype);
        outputs.into_iter().map(from_flex).collect()
    }
    #[cfg(not(feature = "flex"))]
    {
        let _ = (kernel, scalars, inputs, sides, dtype);
        unreachable!("no backend said that it runs kernels")
    }
}

/// The windows of a convolution, `[B, C, H, W] -> [B, C kh kw, T]`, without autodiff, if the backend has an operation for it.
pub(crate) fn columns(x: &Tensor<4>, windows: &Windows) -> Option<Tensor<3>> {
    #[cfg(feature = "flex")]
    if let Some(x) = to_flex(x.clone()) {
        return flex::columns::run(&x.float(), windows).map(from_flex);
    }
    let _ = (x, windows);
    None
}

/// Of `ids [B, T]` and `d [B, T, D]`: the sum of each row at its first use in the example and zeros at the others, if the backend has an
/// operation for it.
pub(crate) fn merge(ids: &Tensor<2, Int>, d: &Tensor<3>) -> Option<Tensor<3>> {
    #[cfg(feature = "flex")]
    if let (Some(ids), Some(d)) = (to_flex(ids.clone()), to_flex(d.clone())) {
        return flex::merge::run(&ids.int(), &d.float()).map(from_flex);
    }
    let _ = (ids, d);
    None
}

/// The tensor as Flex holds it, if it does.
#[cfg(feature = "flex")]
fn to_flex<const D: usize, K: burn::tensor::kind::Basic>(
    x: Tensor<D, K>,
) -> Option<burn::backend::BackendTensor<burn::backend::Flex>> {
    use burn::backend::{DispatchKindConversion, DispatchTensor, Flex};
    <DispatchTensor as DispatchKindConversion<Flex>>::try_into_backend(x.into_dispatch()).ok()
}

#[cfg(feature = "flex")]
fn from_flex<const D: usize>(x: burn_flex::FlexTensor) -> Tensor<D> {
    use burn::backend::{BackendTensor, DispatchKindConversion, DispatchTensor, Flex};
    let x = BackendTensor::Float(x);
    Tensor::from_dispatch(<DispatchTensor as DispatchKindConversion<Flex>>::from_backend(x))
}
