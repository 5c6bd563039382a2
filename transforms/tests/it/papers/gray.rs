//! Gray, Tiwari, Bergsma, Hestness, arXiv 2411.00999: estimators of the gradient noise scale.

use pergrad_transforms::Program;
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;

use crate::model::{add_leaf, step, steps};
use crate::random::Random;
use crate::tolerance::assert_close;

fn noise_scale(decay: f64) -> Program {
    program(&chain((monitor::gns().decay(decay), mean()))).unwrap()
}

/// A batch over two leaves, with `mean` added to normal noise; and its rows.
fn noisy(random: &mut Random, examples: usize, mean: f64) -> (StepInput, Vec<Vec<f64>>) {
    let rows: Vec<Vec<f64>> = (0..examples)
        .map(|_| random.normals(5).iter().map(|x| x + mean).collect())
        .collect();
    let mut input = StepInput::default();
    let part = |from: usize, to: usize| rows.iter().flat_map(|r| r[from..to].to_vec()).collect();
    add_leaf(&mut input, "a", &[2], examples, part(0, 2));
    add_leaf(&mut input, "w", &[3], examples, part(2, 5));
    (input, rows)
}

fn sq_norm_of_mean(rows: &[Vec<f64>]) -> f64 {
    let n = rows.len() as f64;
    (0..rows[0].len())
        .map(|p| (rows.iter().map(|r| r[p]).sum::<f64>() / n).powi(2))
        .sum()
}

fn mean_sq_norm(rows: &[Vec<f64>]) -> f64 {
    let norms = rows.iter().map(|r| r.iter().map(|x| x * x).sum::<f64>());
    norms.sum::<f64>() / rows.len() as f64
}

/// The two estimators by norms alone, over all parameters at once: `[G^2, S]`.
fn by_norms(rows: &[Vec<f64>]) -> [f64; 2] {
    let b = rows.len() as f64;
    let (sgn, spegn) = (sq_norm_of_mean(rows), mean_sq_norm(rows));
    [
        (b * sgn - spegn) / (b - 1.0),
        (spegn - sgn) / (1.0 - 1.0 / b),
    ]
}

#[test]
fn the_estimators_are_those_by_norms() {
    let mut random = Random::new(2411);
    for examples in [2, 3, 8] {
        let (input, rows) = noisy(&mut random, examples, 1.0);
        let output = step::<f64>(&noise_scale(0.0), &input);
        let got = [output.metrics["gns.g2"][0], output.metrics["gns.s"][0]];
        assert_close::<f64>(&got, &by_norms(&rows), "G^2 and S");
        let (b, [g2, s]) = (examples as f64, got);
        assert_close::<f64>(&[g2 + s], &[mean_sq_norm(&rows)], "spegn = G^2 + S");
        assert_close::<f64>(
            &[g2 + s / b],
            &[sq_norm_of_mean(&rows)],
            "sgn = G^2 + S / b",
        );
    }
}

/// McCandlish et al., arXiv 1812.06162, with batches of 1 inside a batch of B.
#[test]
fn the_estimators_are_those_of_two_batch_sizes() {
    let (input, rows) = noisy(&mut Random::new(1812), 8, 1.0);
    let (small, large) = (mean_sq_norm(&rows), sq_norm_of_mean(&rows));
    let g2 = (8.0 * large - small) / (8.0 - 1.0);
    let s = (small - large) / (1.0 - 1.0 / 8.0);
    let output = step::<f64>(&noise_scale(0.0), &input);
    assert_close::<f64>(&output.metrics["gns.g2"], &[g2], "G^2");
    assert_close::<f64>(&output.metrics["gns.s"], &[s], "S");
}

#[test]
fn the_averages_are_taken_apart_and_the_ratio_last() {
    let mut random = Random::new(5);
    let batches: Vec<_> = (0..4).map(|_| noisy(&mut random, 4, 1.0)).collect();
    let inputs: Vec<_> = batches.iter().map(|(input, _)| input.clone()).collect();
    let outputs = steps::<f64>(&noise_scale(0.5), &inputs);
    // Debiased averages as explicit weighted means: weights 1, 2, 4, 8 for a decay of 1/2.
    let mut total = [0.0; 2];
    let mut weights = 0.0;
    for (t, (_, rows)) in batches.iter().enumerate() {
        let weight = f64::from(1_u32 << t);
        weights += weight;
        for (total, x) in total.iter_mut().zip(by_norms(rows)) {
            *total += weight * x;
        }
        let [g2, s] = total.map(|x| x / weights);
        let metrics = &outputs[t].metrics;
        assert_close::<f64>(&metrics["gns.g2"], &[g2], "G^2");
        assert_close::<f64>(&metrics["gns.s"], &[s], "S");
        assert_close::<f64>(&metrics["gns.scale"], &[s / g2.max(0.0)], "ratio");
    }
}

/// Over 2000 batches of 4 the mean of `G^2` is 0 within its sampling error, and that of `S` is the trace, 5.
#[test]
fn noise_without_a_signal_has_no_signal_on_average() {
    let mut random = Random::new(11);
    let program = noise_scale(0.0);
    let estimates: Vec<[f64; 2]> = (0..2000)
        .map(|_| {
            let output = step::<f64>(&program, &noisy(&mut random, 4, 0.0).0);
            [output.metrics["gns.g2"][0], output.metrics["gns.s"][0]]
        })
        .collect();
    for (which, expected) in [(0, 0.0), (1, 5.0)] {
        let values = estimates.iter().map(|e| e[which]);
        let mean = values.clone().sum::<f64>() / 2000.0;
        let variance = values.map(|x| (x - mean).powi(2)).sum::<f64>() / 1999.0;
        let error = (variance / 2000.0).sqrt();
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "{mean} is not {expected} +- {error}"
        );
        assert!(error < 0.1, "the test could not fail");
    }
}
