//! What looks at the shape of a leaf: folds along some of its axes, and products of leaves that are matrices.

use burn::tensor::Tensor;
use pergrad_transforms::program::{Axes, Binary, Fold};

use super::ops::{Matrix, binary_right};

/// Each element becomes the fold over all elements of its leaf, and example, that differ from it along the chosen axes only:
/// `[R, P] -> [R, P]`, of a leaf of this shape, with elements.
pub(super) fn fold(fold: Fold, axes: Axes, x: Matrix, shape: &[usize]) -> Matrix {
    let [rows, size] = x.dims();
    let chosen = axes.of(shape);
    let mut x = x;
    let mut at = 0;
    // Axes that follow each other and are all chosen are one.
    while at < shape.len() {
        let next = (at..shape.len()).find(|&axis| chosen[axis] != chosen[at]);
        let end = next.unwrap_or(shape.len());
        if chosen[at] {
            let before: usize = shape[..at].iter().product();
            let length: usize = shape[at..end].iter().product();
            let after: usize = shape[end..].iter().product();
            let sides = [rows * before, length, after];
            let folded = over_middle(fold, x.reshape(sides));
            x = folded.expand(sides).reshape([rows, size]);
        }
        at = end;
    }
    match fold {
        Fold::Sum => x,
        // It begins with 0, also where nothing is chosen.
        Fold::Max => binary_right(Binary::Max, x, 0.0),
    }
}

fn over_middle(fold: Fold, x: Tensor<3>) -> Tensor<3> {
    match fold {
        Fold::Sum => x.sum_dim(1),
        Fold::Max => {
            let nan = x.clone().is_nan().any_dim(1);
            x.max_dim(1).mask_fill(nan, f64::NAN)
        }
    }
}

/// `a b^T c` of each row, read as a matrix: the first axis of the leaf is its rows, the others are its columns; a leaf of fewer
/// than two axes is one row.
pub(super) fn product3([a, b, c]: [Matrix; 3], shape: &[usize]) -> Matrix {
    let [count, size] = a.dims();
    let rows = match shape {
        [first, _, ..] => *first,
        _ => 1,
    };
    let columns = size / rows;
    let matrices = |x: Matrix| x.reshape([count, rows, columns]);
    let (a, b, c) = (matrices(a), matrices(b), matrices(c));
    let product = if rows > columns {
        a.matmul(b.swap_dims(1, 2).matmul(c))
    } else {
        a.matmul(b.swap_dims(1, 2)).matmul(c)
    };
    product.reshape([count, size])
}
