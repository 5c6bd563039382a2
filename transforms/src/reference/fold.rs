//! Folds over the columns of a matrix and over leaves, and the sums of products that make a Gram matrix.

use ndarray::{Array2, Axis};
use num_traits::Float;

use super::interpret::broadcast;
use super::{Element, expand};
use crate::program::{Binary, Fold};

fn fold<T: Float>(fold: Fold, values: impl Iterator<Item = T>) -> T {
    match fold {
        Fold::Sum => values.fold(T::zero(), |x, y| x + y),
        Fold::Max => values.fold(T::zero(), |x, y| Binary::Max.apply(x, y)),
    }
}

/// In blocks, so that a long f32 sum stays right: the error grows with the square root of the length, not with it.
pub(super) fn in_blocks<T: Element>(f: Fold, values: &[T]) -> T {
    let blocks = |values: &[T]| -> Vec<T> {
        let blocks = values.chunks(1024);
        blocks.map(|block| fold(f, block.iter().copied())).collect()
    };
    fold(f, blocks(&blocks(values)).into_iter())
}

/// `[R, C] -> [R, 1]`: the columns are elements or second examples.
pub(super) fn over_columns<T: Element>(f: Fold, x: &Array2<T>, columns: usize) -> Array2<T> {
    let x = expand(x, x.nrows(), columns);
    let rows = x.axis_iter(Axis(0));
    let rows: Vec<T> = rows.map(|row| in_blocks(f, &row.to_vec())).collect();
    Array2::from_shape_vec((rows.len(), 1), rows).expect("one number a row")
}

/// `[B, P] -> [B, B]`, each pair on its own: what is no number in one example stays in its row and column.
pub(super) fn gram<T: Element>(x: &Array2<T>) -> Array2<T> {
    Array2::from_shape_fn((x.nrows(), x.nrows()), |(b, c)| {
        let products = x.row(b).into_iter().zip(x.row(c)).map(|(&x, &y)| x * y);
        in_blocks(Fold::Sum, &products.collect::<Vec<T>>())
    })
}

/// `[B, B]` with `[B, B]` to `[B, B]`.
pub(super) fn pair_product<T: Element>(x: &Array2<T>, y: &Array2<T>, batch: usize) -> Array2<T> {
    let (x, y) = (expand(x, batch, batch), expand(y, batch, batch));
    Array2::from_shape_fn((batch, batch), |(b, c)| {
        let products = x.row(b).into_iter().zip(y.column(c)).map(|(&x, &y)| x * y);
        in_blocks(Fold::Sum, &products.collect::<Vec<T>>())
    })
}

/// One value for all leaves. Without leaves there is one empty value in their place.
pub(super) fn over_leaves<'a, T: Element>(
    f: Fold,
    leaves: impl Iterator<Item = &'a Array2<T>>,
    is_empty: bool,
) -> Array2<T> {
    let mut total: Option<Array2<T>> = None;
    for x in leaves {
        total = Some(match total {
            None if is_empty => x.mapv(|_| fold(f, std::iter::empty())),
            None => x.mapv(|x| fold(f, [x].into_iter())),
            Some(sum) => broadcast(&sum, x, |&a, &b| fold(f, [a, b].into_iter())),
        });
    }
    total.expect("at least one leaf")
}
