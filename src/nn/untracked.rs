//! Parameters that the autodiff graph does not see.

use burn::module::Param;
use burn::tensor::Tensor;

/// The parameter as a layer uses it while gradients are captured: without autodiff if it is trained, so that the backward pass
/// does not compute its summed gradient, and as it is otherwise.
///
/// A parameter that is not a trained leaf may still be computed from one (LoRA adapters): it stays tracked, so that the leaf
/// behind it is noticed and refused instead of silently getting zeros.
pub(super) fn untracked<const D: usize>(param: &Param<Tensor<D>>) -> Param<Tensor<D>> {
    let value = param.val();
    if value.is_require_grad() {
        Param::initialized(param.id, value.inner())
    } else {
        param.clone()
    }
}

/// The parameter if it is trained.
pub(super) fn trained<const D: usize>(
    param: Option<&Param<Tensor<D>>>,
) -> Option<&Param<Tensor<D>>> {
    // Of the effective value: one that is computed from a trained base (LoRA, a mapped parameter) is no leaf.
    param.filter(|param| param.val().is_require_grad())
}
