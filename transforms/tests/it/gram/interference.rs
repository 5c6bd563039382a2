//! The direction nearest to another one that harms no example: a quadratic program over pairs, solved inside a link.
//!
//! `min_d |d - d0|^2 / 2 + lambda sum_b max(0, -g_b . d)` has the dual `min_alpha alpha K alpha / 2 + p alpha` over the box
//! `0 <= alpha <= lambda`, with `K` the Gram matrix, `p_b = g_b . d0` and `d = d0 + sum_b alpha_b g_b`. After Avranas, 2026,
//! arXiv 2607.16261.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{StepInput, StepOutput};
use pergrad_transforms::{Aggregated, Global, PerExample};

use crate::model::{batch, step, w};
use crate::random::Random;
use crate::tolerance::assert_close;

/// Starts from the sum of the gradients and projects onto the box after each step of `1 / max_b sum_c |K[b, c]|`.
struct LeastHarm {
    lambda: Hyper,
    iterations: usize,
}

impl Transform<PerExample> for LeastHarm {
    type Out = Aggregated;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        let lambda = cx.hyper("lambda", &self.lambda, Domain::Bound);
        let start = x.sum();
        let (gram, p) = (x.gram(), x.dot(&start));
        let bound = gram.abs().sum_pairs().across().max_pairs();
        let into_box = |alpha: Value<PerExample, Global>| alpha.max(0.0).min(&lambda);
        let mut alpha = into_box(-p.div_or_zero(&bound));
        for _ in 1..self.iterations {
            let slope = gram.times(&alpha) + &p;
            alpha = into_box(alpha - slope.div_or_zero(&bound));
        }
        let direction = start + (&x * &alpha).sum();
        cx.emit("alpha", &alpha);
        cx.emit("dot", &x.dot(&direction));
        direction
    }
}

fn solve(lambda: f64, iterations: usize, input: &StepInput) -> StepOutput {
    let link = LeastHarm {
        lambda: lambda.into(),
        iterations,
    };
    step::<f64>(&optimizer_program(&link).unwrap(), input)
}

/// The second example is harmed by the sum `[3, 0.5]`: the product is -2.75.
fn harmed() -> StepInput {
    batch([[4.0, 0.0], [-1.0, 0.5]])
}

#[test]
fn without_a_penalty_the_direction_stays() {
    assert_eq!(w(&solve(0.0, 10, &harmed())), [3.0, 0.5]);
}

#[test]
fn examples_that_agree_leave_the_direction() {
    let input = batch([[1.0, 0.5], [0.5, 1.0], [0.0, 0.0]]);
    assert_eq!(w(&solve(f64::INFINITY, 10, &input)), [1.5, 1.5]);
}

#[test]
fn a_large_penalty_leaves_no_example_harmed() {
    let output = solve(100.0, 800, &harmed());
    // The nearest direction is that at a right angle to the second example.
    assert_close::<f64>(&output.metrics["least_harm.alpha"], &[0.0, 2.2], "alpha");
    assert_close::<f64>(w(&output), &[0.8, 1.6], "direction");
    let dot = &output.metrics["least_harm.dot"];
    assert!(dot.iter().all(|x| *x > -1e-12), "{dot:?}");
}

#[test]
fn a_small_penalty_stops_at_the_edge_of_the_box() {
    let output = solve(0.5, 100, &harmed());
    assert_eq!(output.metrics["least_harm.alpha"], [0.0, 0.5]);
    assert_eq!(w(&output), [2.5, 0.75]);
}

#[test]
fn the_duality_gap_closes() {
    let mut random = Random::new(31);
    let rows: [[f64; 3]; 6] = std::array::from_fn(|_| std::array::from_fn(|_| random.normal()));
    let start: [f64; 3] = std::array::from_fn(|p| rows.iter().map(|row| row[p]).sum());
    let lambda = 5.0;
    let gap = |iterations: usize| -> f64 {
        let output = solve(lambda, iterations, &batch(rows));
        let (d, alpha) = (w(&output), &output.metrics["least_harm.alpha"]);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let moved: Vec<f64> = d.iter().zip(start).map(|(d, start)| d - start).collect();
        let harm: f64 = rows.iter().map(|g| (-dot(g, d)).max(0.0)).sum();
        let dual: f64 = rows
            .iter()
            .zip(alpha)
            .map(|(g, a)| a * dot(g, &start))
            .sum();
        dot(&moved, &moved) + lambda * harm + dual
    };
    let gaps = [1, 10, 100, 1000].map(gap);
    assert!(gaps[0] > 0.1, "something is harmed at first: {gaps:?}");
    assert!(gaps.is_sorted_by(|a, b| a > b), "{gaps:?}");
    assert!(gaps[3].abs() < 1e-9, "{gaps:?}");
}

#[test]
fn batches_that_have_nothing_to_give_give_zeros() {
    for input in [batch([[0.0, 0.0], [0.0, 0.0]]), batch::<0, 2>([])] {
        assert_eq!(w(&solve(1.0, 3, &input)), [0.0, 0.0]);
    }
}
