//! Monitors: the gradients pass, and the numbers are those of plain loops over the examples.

mod agreement;
mod gns;
mod gsnr;
mod norms;
mod pass_through;
mod tests_of_the_batch;
mod two_batch_sizes;

use std::collections::BTreeMap;

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{Runner, StepInput};
use pergrad_transforms::{Error, PerExample};

use crate::model::{add_leaf, reference, step};
use crate::random::Random;

/// The metrics of the first step of a chain.
fn metrics(chain: &impl Transform<PerExample>, input: &StepInput) -> BTreeMap<String, Vec<f64>> {
    step::<f64>(&program(chain).unwrap(), input).metrics
}

/// The one number of a metric.
fn number(chain: &impl Transform<PerExample>, name: &str, input: &StepInput) -> f64 {
    let values = metrics(chain, input).remove(name).unwrap();
    assert_eq!(values.len(), 1, "{name}");
    values[0]
}

/// What the first step of a chain complains of.
fn complaint(chain: &impl Transform<PerExample>, input: &StepInput) -> Option<Error> {
    let program = program(chain).unwrap();
    reference::<f64>(&program, input).step(input).err()
}

/// A batch over the leaves `a [2]` and `w [3]`, with `mean` added to normal noise; and its rows.
fn noisy(random: &mut Random, examples: usize, mean: f64) -> (StepInput, Vec<Vec<f64>>) {
    let rows: Vec<Vec<f64>> = (0..examples)
        .map(|_| random.normals(5).iter().map(|x| x + mean).collect())
        .collect();
    (two_leaves(&rows), rows)
}

/// The first two columns as the leaf `a`, the others as the leaf `w`.
fn two_leaves(rows: &[Vec<f64>]) -> StepInput {
    let mut input = StepInput::default();
    let columns = rows.first().map_or(5, Vec::len);
    let part = |from: usize, to: usize| rows.iter().flat_map(|r| r[from..to].to_vec()).collect();
    add_leaf(&mut input, "a", &[2], rows.len(), part(0, 2));
    let rest = columns - 2;
    add_leaf(&mut input, "w", &[rest], rows.len(), part(2, columns));
    input
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn mean_row(rows: &[Vec<f64>]) -> Vec<f64> {
    let n = rows.len() as f64;
    (0..rows[0].len())
        .map(|p| rows.iter().map(|r| r[p]).sum::<f64>() / n)
        .collect()
}

/// The sum of squared deviations of each element from its mean, divided by `B - ddof`.
fn variances(rows: &[Vec<f64>], ddof: usize) -> Vec<f64> {
    let mean = mean_row(rows);
    let divisor = (rows.len() - ddof) as f64;
    (0..mean.len())
        .map(|p| {
            let squares = rows.iter().map(|r| (r[p] - mean[p]).powi(2));
            squares.sum::<f64>() / divisor
        })
        .collect()
}
