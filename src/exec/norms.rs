//! The norm of each example, of one leaf's gradients.

use burn::tensor::DType;
use pergrad_transforms::program::{Fold, Unary};

use super::cell::Cell;
use super::deferred::Expression;
use super::factored;
use super::ops::Matrix;
use super::reduce;
use super::settings::Settings;
use crate::grads::form::Form;

/// The squared norm of each example's gradient, `[B, 1]`, in f64 if the gradients are, else in f32.
pub(crate) fn sq_norms(form: Form, settings: &Settings) -> Matrix {
    let dtype = match form.dtype() {
        DType::F64 => DType::F64,
        _ => DType::F32,
    };
    let mut cell = factored::read(form, dtype, settings);
    if let Cell::Factors(x) = cell {
        let squares = x.clone().unary(Unary::Square);
        let sums = squares.and_then(|x| x.over_elements(Fold::Sum, settings.norm_method));
        match sums {
            Ok(sums) => return sums,
            Err(_) => cell = Cell::Factors(x).leave_factors(settings),
        }
    }
    match cell {
        Cell::Deferred(x) => {
            let squares = x.then(|x| Expression::Unary(Unary::Square, x));
            squares.over_elements(Fold::Sum)
        }
        x => {
            let x = x.into_dense();
            reduce::over_elements(Fold::Sum, x.clone() * x)
        }
    }
}
