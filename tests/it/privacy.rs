//! Private aggregation of the gradients of a burn model.

use burn::nn::LinearConfig;
use burn::tensor::{DType, Tensor};
use pergrad::nn::Linear;
use pergrad::prelude::*;
use pergrad::{Optimizer, PerExampleGrads, per_example_grads};

use crate::models::{device, fixed, numbers, per_example_loss};

fn layer() -> Linear {
    Linear::new(&LinearConfig::new(4, 3).with_bias(false), &device())
}

fn batch(model: &Linear, rows: std::ops::Range<usize>) -> PerExampleGrads {
    let x = fixed([8, 4], 3, DType::F32, &device()).slice([rows]);
    per_example_grads(model, |m| per_example_loss(m.forward(x)))
        .unwrap()
        .1
}

fn private(noise_multiplier: f64) -> Optimizer {
    let aggregate = differentially_private_aggregate(0.1, noise_multiplier, 8.0);
    Optimizer::new(chain((aggregate.seed(Seed::from(3)), scale(-1.0)))).unwrap()
}

fn update(optimizer: &mut Optimizer, model: &Linear, grads: &PerExampleGrads) -> Vec<f64> {
    let updates = optimizer.update(model, grads).unwrap();
    numbers(updates.leaf::<2>("weight").unwrap())
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y));
    squares.sum::<f64>().sqrt()
}

/// The sensitivity that the accountant rests on: whatever the example, the sum moves by at most the bound.
#[test]
fn one_example_more_moves_the_aggregate_by_the_bound_over_the_expected_batch() {
    let model = layer();
    let mut with = private(0.5);
    let mut without = private(0.5);
    let all = update(&mut with, &model, &batch(&model, 0..8));
    let seven = update(&mut without, &model, &batch(&model, 0..7));
    let moved = distance(&all, &seven);
    assert!(moved > 0.0 && moved <= 0.1 / 8.0 * (1.0 + 1e-5), "{moved}");
}

#[test]
fn an_empty_batch_gives_noise_and_another_step_other_noise() {
    let model = layer();
    let empty = PerExampleGrads::builder()
        .leaf("weight", Tensor::<3>::zeros([0, 4, 3], &device()))
        .build()
        .unwrap();
    let mut optimizer = private(2.0);
    let first = update(&mut optimizer, &model, &empty);
    let second = update(&mut optimizer, &model, &empty);
    assert!(
        first
            .iter()
            .all(|x| *x != 0.0 && x.abs() < 6.0 * 2.0 * 0.1 / 8.0)
    );
    assert_ne!(first, second);
}

#[test]
fn without_noise_it_is_the_clipped_mean() {
    let model = layer();
    let grads = batch(&model, 0..8);
    let got = update(&mut private(0.0), &model, &grads);
    let rows = numbers(grads.leaf::<3>("weight").unwrap());
    let mut sum = [0.0; 12];
    for row in rows.chunks(12) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let weight = (0.1 / norm).min(1.0);
        sum.iter_mut()
            .zip(row)
            .for_each(|(s, x)| *s -= weight * x / 8.0);
    }
    assert!(distance(&got, &sum) < 1e-7, "{got:?} {sum:?}");
}
