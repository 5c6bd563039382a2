//! What gather leaves need: rows of a table picked by ids, repeated ids added up, and a part of the table.

use burn::tensor::{Int, IntDType, Tensor};

use super::super::ops::Matrix;
use crate::backend;
use crate::grads::form::{Form, add_rows};

/// Adds the repeated rows of each example up at their first use, with zeros at the others: a function that keeps 0 can then be taken
/// of each use, and the squares of the uses add up to the square of the norm.
pub(super) fn merge(ids: &Tensor<2, Int>, d: Tensor<3>) -> Tensor<3> {
    if let Some(merged) = backend::merge(ids, &d) {
        return merged;
    }
    let [examples, tokens] = ids.dims();
    let shape = [examples, tokens, tokens];
    let row: Tensor<3, Int> = ids.clone().reshape([examples, tokens, 1]);
    let column: Tensor<3, Int> = ids.clone().reshape([examples, 1, tokens]);
    let different = row.expand(shape).not_equal(column.expand(shape));
    // For each use, the first use of the same row. By index and not by a product, so that a NaN stays in its row.
    let last = tokens as i64;
    let uses = Tensor::<1, Int>::arange(0..last, &ids.device());
    let uses: Tensor<3, Int> = uses.reshape([1, 1, tokens]).expand(shape);
    let first = uses.mask_fill(different, last).min_dim(2);
    let example = Tensor::<1, Int>::arange(0..examples as i64, &ids.device());
    let example: Tensor<3, Int> = example.mul_scalar(last).reshape([examples, 1, 1]);
    let first = (first + example).reshape([examples * tokens]);
    let width = d.dims()[2];
    let d = d.reshape([examples * tokens, width]);
    add_rows(examples * tokens, first, d).reshape([examples, tokens, width])
}

/// The rows `[B, T, D]` of a table `[1, V D]`.
pub(super) fn rows(ids: &Tensor<2, Int>, table: Matrix, shape: [usize; 3]) -> Tensor<3> {
    let [examples, tokens, width] = shape;
    let rows = table.dims()[1] / width;
    let ids = ids.clone().reshape([examples * tokens]);
    let picked = table.reshape([rows, width]).select(0, ids);
    picked.reshape(shape)
}

/// The rows `first..first + count` of the table, and nothing of the others.
pub(super) fn tile(ids: Tensor<2, Int>, d: Tensor<3>, first: usize, count: usize) -> Form {
    // In 64 bits: ids may have any width, and the numbers they are compared with are rounded to it.
    let ids = ids.cast(IntDType::I64).sub_scalar(first as i64);
    let outside = ids.clone().lower_elem(0);
    let outside = outside.bool_or(ids.clone().greater_equal_elem(count as i64));
    let [examples, tokens, _] = d.dims();
    let drop: Tensor<3, burn::tensor::Bool> = outside.clone().reshape([examples, tokens, 1]);
    let drop = drop.expand(d.dims());
    Form::Gather {
        ids: ids.mask_fill(outside, 0),
        d: d.mask_fill(drop, 0.0),
        rows: count,
    }
}
