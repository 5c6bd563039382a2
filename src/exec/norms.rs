//! The norm of each example, of one leaf's gradients.

use burn::tensor::DType;
use pergrad_transforms::program::{Fold, Unary};

use super::factored;
use super::ops::Matrix;
use super::settings::Settings;
use crate::grads::form::Form;

/// The squared norm of each example's gradient, `[B, 1]`, in f64 if the gradients are, else in f32.
pub(crate) fn sq_norms(form: Form, settings: &Settings) -> Matrix {
    let dtype = match form.dtype() {
        DType::F64 => DType::F64,
        _ => DType::F32,
    };
    let size = form.size();
    let squares = factored::read(form, dtype, settings).unary(Unary::Square, settings);
    squares.over_elements(Fold::Sum, size, settings)
}
