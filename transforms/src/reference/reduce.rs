//! Reductions over the examples, a column at a time.

use ndarray::{Array2, Axis};

use super::{Element, from_f64};
use crate::program::{Binary, Reduction};

/// `[B, P] -> [1, P]`. The batch size has been checked.
pub(super) fn over_examples<T: Element>(reduction: Reduction, x: &Array2<T>) -> Array2<T> {
    let columns = x
        .axis_iter(Axis(1))
        .map(|column| reduce(reduction, &column.to_vec()));
    let columns: Vec<T> = columns.collect();
    Array2::from_shape_vec((1, columns.len()), columns).expect("one number a column")
}

#[allow(clippy::cast_precision_loss)] // batches are below 2^53
fn reduce<T: Element>(reduction: Reduction, column: &[T]) -> T {
    let count = |n: usize| from_f64::<T>(n as f64);
    let sum = |values: &[T]| values.iter().fold(T::zero(), |a, &b| a + b);
    let mean = |values: &[T]| sum(values) / count(values.len());
    match reduction {
        Reduction::Sum => sum(column),
        Reduction::Mean => mean(column),
        Reduction::Variance { ddof } => {
            let mean = mean(column);
            let deviations: Vec<T> = column.iter().map(|&x| x - mean).collect();
            let squares: Vec<T> = deviations.iter().map(|&d| d * d).collect();
            // The mean is rounded; what it is off by would add its square to the variance.
            let off = sum(&deviations);
            let squares = sum(&squares) - off * off / count(column.len());
            Binary::Max.apply(squares, T::zero()) / count(column.len() - ddof)
        }
        Reduction::Max => extreme(Binary::Max, column),
        Reduction::Min => extreme(Binary::Min, column),
        Reduction::Median => {
            let sorted = sorted(column);
            match sorted {
                None => T::nan(),
                Some(sorted) => {
                    let half = sorted.len() / 2;
                    if sorted.len() % 2 == 1 {
                        sorted[half]
                    } else {
                        // Halved first: the sum may overflow.
                        sorted[half - 1] / count(2) + sorted[half] / count(2)
                    }
                }
            }
        }
        Reduction::TrimmedMean { k } => {
            sorted(column).map_or(T::nan(), |sorted| mean(&sorted[k..sorted.len() - k]))
        }
    }
}

fn extreme<T: Element>(f: Binary, column: &[T]) -> T {
    let first = column[0];
    column.iter().fold(first, |a, &b| f.apply(a, b))
}

/// The values in order, or nothing if one is NaN.
fn sorted<T: Element>(column: &[T]) -> Option<Vec<T>> {
    if column.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut values = column.to_vec();
    values.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    Some(values)
}
