//! What parts of a batch give, merged into what the whole batch gives.

use pergrad_transforms::program::{Binary, Merge};

use super::ops::{self, Matrix};

/// The values of two parts of `n` and `m` examples, merged: for each of `merges`, for each leaf or once.
#[allow(clippy::cast_precision_loss)] // batches are below 2^53
pub(crate) fn merge(
    merges: &[Merge],
    [n, m]: [usize; 2],
    mine: Vec<Vec<Matrix>>,
    other: Vec<Vec<Matrix>>,
) -> Vec<Vec<Matrix>> {
    let share = m as f64 / (n + m).max(1) as f64;
    // Of the means, for the deviations that come next.
    let mut differences: Vec<Matrix> = Vec::new();
    let values = merges.iter().zip(mine.into_iter().zip(other));
    let values = values.map(|(merge, (mine, other))| {
        let pairs = mine.into_iter().zip(other);
        match merge {
            Merge::Sum => pairs.map(|(x, y)| x + y).collect(),
            Merge::Max => pairs.map(|(x, y)| ops::binary(Binary::Max, x, y)).collect(),
            Merge::Min => pairs.map(|(x, y)| ops::binary(Binary::Min, x, y)).collect(),
            Merge::Mean => {
                differences.clear();
                let mean = |(x, y): (Matrix, Matrix)| {
                    let difference = y - x.clone();
                    differences.push(difference.clone());
                    x + difference.mul_scalar(share)
                };
                pairs.map(mean).collect()
            }
            Merge::Deviations => {
                let between = differences.drain(..);
                let between = between.map(|d| (d.clone() * d).mul_scalar(n as f64 * share));
                let pairs = pairs.zip(between);
                pairs.map(|((x, y), between)| x + y + between).collect()
            }
        }
    });
    values.collect()
}
