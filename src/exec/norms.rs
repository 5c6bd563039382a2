//! The norm of each example, of one leaf's gradients.

use burn::tensor::DType;
use pergrad_transforms::program::{Fold, Unary};

use super::cell::Cell;
use super::factored;
use super::ops::{self, Matrix};
use super::reduce;
use super::settings::Settings;
use crate::grads::form::Form;

/// The squared norm of each example's gradient, `[B, 1]`, in f64 if the gradients are, else in f32.
pub(crate) fn sq_norms(form: Form, settings: &Settings) -> Matrix {
    let dtype = match form.dtype() {
        DType::F64 => DType::F64,
        _ => DType::F32,
    };
    let factors = match factored::read(form, dtype, settings) {
        Cell::Factors(factors) => factors,
        dense => {
            let squares = ops::unary(Unary::Square, dense.into_dense());
            return reduce::over_elements(Fold::Sum, squares);
        }
    };
    let squares = factors.unary(Unary::Square);
    let sums = squares.and_then(|x| x.over_elements(Fold::Sum, settings.norm_method));
    match sums {
        Ok(sums) => sums,
        // The square itself is always told, so these are the squares.
        Err(squares) => match Cell::Factors(squares).leave_factors(settings) {
            Cell::Deferred(squares) => squares.over_elements(Fold::Sum),
            squares => reduce::over_elements(Fold::Sum, squares.into_dense()),
        },
    }
}
