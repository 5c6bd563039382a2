//! What knows the shape of a leaf: folds along its axes, and products of leaves as matrices.

use std::collections::BTreeMap;

use ndarray::{Array2, Axis};

use super::Element;
use super::fold::in_blocks;
use crate::program::Fold;

/// `[R, P] -> [R, P]`: each element gets the fold over those that differ from it along the folded axes only.
pub(super) fn along_axes<T: Element>(
    fold: Fold,
    folded: &[bool],
    x: &Array2<T>,
    shape: &[usize],
) -> Array2<T> {
    // The position of the slice of an element: its own, with 0 along the folded axes.
    let slice = |mut at: usize| {
        let (mut stride, mut position) = (1, 0);
        for (length, folded) in shape.iter().zip(folded).rev() {
            if !folded {
                position += at % length * stride;
            }
            at /= length;
            stride *= length;
        }
        position
    };
    let slices: Vec<usize> = (0..x.ncols()).map(slice).collect();
    let mut out = x.clone();
    for mut row in out.axis_iter_mut(Axis(0)) {
        let mut parts: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        for (slice, value) in slices.iter().zip(&row) {
            parts.entry(*slice).or_default().push(*value);
        }
        let folds = parts
            .iter()
            .map(|(at, values)| (*at, in_blocks(fold, values)));
        let folds: BTreeMap<usize, T> = folds.collect();
        row.iter_mut()
            .zip(&slices)
            .for_each(|(value, slice)| *value = folds[slice]);
    }
    out
}

/// `a b^T c` of matrices of `rows` rows, one for each row of the operands.
pub(super) fn product3<T: Element>(
    a: &Array2<T>,
    b: &Array2<T>,
    c: &Array2<T>,
    rows: usize,
) -> Array2<T> {
    let columns = a.ncols().checked_div(rows).unwrap_or(0);
    let mut out = a.clone();
    for (at, mut out) in out.axis_iter_mut(Axis(0)).enumerate() {
        let entry = |x: &Array2<T>, i: usize, j: usize| x[[at, i * columns + j]];
        let sum = |values: Vec<T>| in_blocks(Fold::Sum, &values);
        let square = Array2::from_shape_fn((rows, rows), |(i, k)| {
            sum((0..columns)
                .map(|j| entry(a, i, j) * entry(b, k, j))
                .collect())
        });
        for (position, value) in out.iter_mut().enumerate() {
            let (i, j) = (position / columns, position % columns);
            *value = sum((0..rows).map(|k| square[[i, k]] * entry(c, k, j)).collect());
        }
    }
    out
}
