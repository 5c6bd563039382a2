//! The reductions of a program on burn tensors.
//!
//! Sums run in blocks: the error of a long f32 sum then grows with the logarithm of its length, and a norm over 1.7e7
//! elements is right to 1e-6. Variances are taken from deviations. A NaN reaches the result, also where burn's sort or
//! maximum would pass it over.

use burn::tensor::{Bool, Tensor};
use pergrad_transforms::program::{Binary, Fold, Reduction};

use super::ops::{Mask, Matrix};
use crate::model::full;

/// Columns of a block; backends add them in several lanes at once.
const BLOCK: usize = 1024;
/// Rows of a block; backends add them one after the other.
const ROWS: usize = 32;

/// `[B, P] -> [1, P]`. The batch size has been checked.
pub(super) fn over_examples(reduction: Reduction, x: Matrix) -> Matrix {
    let [examples, size] = x.dims();
    if examples == 0 || size == 0 {
        return full(0.0, [1, size], &x.device(), x.dtype());
    }
    match reduction {
        Reduction::Sum => sum_rows(x),
        Reduction::Mean => sum_rows(x).div_scalar(count(examples)),
        Reduction::Variance { ddof } => {
            let mean = sum_rows(x.clone()).div_scalar(count(examples));
            let deviation = x - mean;
            // The mean is rounded; what it is off by would add its square to the variance.
            let off = sum_rows(deviation.clone());
            let off = (off.clone() * off).div_scalar(count(examples));
            let squares = sum_rows(deviation.clone() * deviation) - off;
            super::ops::binary_right(Binary::Max, squares, 0.0).div_scalar(count(examples - ddof))
        }
        Reduction::Max => {
            let nan = any_nan(&x);
            x.max_dim(0).mask_fill(nan, f64::NAN)
        }
        Reduction::Min => {
            let nan = any_nan(&x);
            x.min_dim(0).mask_fill(nan, f64::NAN)
        }
        Reduction::Median => {
            let nan = any_nan(&x);
            let sorted = x.sort(0);
            let half = examples / 2;
            let median = if examples % 2 == 1 {
                sorted.narrow(0, half, 1)
            } else {
                // Halved first: the sum may overflow.
                let middle = sorted.narrow(0, half - 1, 2).div_scalar(2.0);
                middle.sum_dim(0)
            };
            median.mask_fill(nan, f64::NAN)
        }
        Reduction::TrimmedMean { k } => {
            let nan = any_nan(&x);
            let left = examples - 2 * k;
            let kept = x.sort(0).narrow(0, k, left);
            let mean = sum_rows(kept).div_scalar(count(left));
            mean.mask_fill(nan, f64::NAN)
        }
    }
}

/// `[R, P] -> [R, 1]`.
pub(super) fn over_elements(fold: Fold, x: Matrix) -> Matrix {
    let [rows, size] = x.dims();
    if rows == 0 || size == 0 {
        return full(0.0, [rows, 1], &x.device(), x.dtype());
    }
    match fold {
        Fold::Sum => sum_columns(x),
        Fold::Max => {
            let nan = x.clone().is_nan().any_dim(1);
            let largest = x.max_dim(1);
            let negative = largest.clone().lower_elem(0.0);
            largest.mask_fill(negative, 0.0).mask_fill(nan, f64::NAN)
        }
    }
}

/// `[B, P] -> [B, B]`: the products of every two rows.
pub(super) fn gram(x: Matrix) -> Matrix {
    let [rows, size] = x.dims();
    if rows == 0 || size == 0 {
        return full(0.0, [rows, rows], &x.device(), x.dtype());
    }
    x.clone().matmul(x.transpose())
}

/// The product of two matrices of pairs.
pub(super) fn product(x: Matrix, y: Matrix) -> Matrix {
    let [rows, columns] = x.dims();
    if rows == 0 || columns == 0 {
        return x;
    }
    x.matmul(y)
}

/// The first value of a reduction over leaves.
pub(super) fn first(fold: Fold, x: Matrix) -> Matrix {
    match fold {
        Fold::Sum => x,
        Fold::Max => super::ops::binary_right(Binary::Max, x, 0.0),
    }
}

/// Two values of a reduction over leaves.
pub(super) fn combine(fold: Fold, x: Matrix, y: Matrix) -> Matrix {
    match fold {
        Fold::Sum => x + y,
        Fold::Max => super::ops::binary(Binary::Max, x, y),
    }
}

#[allow(clippy::cast_precision_loss)] // batches are below 2^53
fn count(n: usize) -> f64 {
    n as f64
}

fn any_nan(x: &Matrix) -> Tensor<2, Bool> {
    let nan: Mask = x.clone().is_nan();
    nan.any_dim(0)
}

/// `[B, P] -> [1, P]`, in blocks of rows.
fn sum_rows(x: Matrix) -> Matrix {
    let [rows, size] = x.dims();
    if rows <= 2 * ROWS {
        return x.sum_dim(0);
    }
    let (whole, rest) = (rows / ROWS, rows % ROWS);
    let blocks = x.clone().narrow(0, 0, whole * ROWS);
    let blocks: Tensor<3> = blocks.reshape([whole, ROWS, size]);
    let sums = sum_rows(blocks.sum_dim(1).reshape([whole, size]));
    if rest == 0 {
        return sums;
    }
    sums + x.narrow(0, whole * ROWS, rest).sum_dim(0)
}

/// `[R, P] -> [R, 1]`, in blocks of columns.
fn sum_columns(x: Matrix) -> Matrix {
    let [rows, size] = x.dims();
    if size <= BLOCK {
        return x.sum_dim(1);
    }
    let (whole, rest) = (size / BLOCK, size % BLOCK);
    let blocks = if rest == 0 {
        x.clone()
    } else {
        x.clone().narrow(1, 0, whole * BLOCK)
    };
    let blocks = blocks.reshape([rows * whole, BLOCK]).sum_dim(1);
    let sums = blocks.reshape([rows, whole]);
    if rest == 0 {
        return sum_columns(sums);
    }
    let rest = x.narrow(1, whole * BLOCK, rest).sum_dim(1);
    sum_columns(sums) + rest
}
