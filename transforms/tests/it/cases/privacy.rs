//! Differential privacy: the order of clipping, noise and division.

use pergrad_transforms::prelude::*;

use crate::model::{batch, step, w};
use crate::tolerance::assert_close;

fn aggregate(noise_multiplier: f64) -> pergrad_transforms::Program {
    let link = differentially_private_aggregate(1.0, noise_multiplier, 8);
    program(&link.seed(Seed::from(19))).unwrap()
}

/// jax-privacy#383, opacus#306
#[test]
fn case_19_one_clipped_example_moves_by_one_over_the_expected_batch_size() {
    let output = step::<f64>(&aggregate(0.0), &batch([[3.0, -4.0]]));
    assert_close::<f64>(w(&output), &[0.6 / 8.0, -0.8 / 8.0], "update");
    let length = w(&output)[0].hypot(w(&output)[1]);
    assert_close::<f64>(&[length], &[0.125], "length");
}

/// jax-privacy#383, opacus#306: the noise is on the sum, in units of the bound.
#[test]
#[allow(clippy::cast_precision_loss)]
fn case_19_the_noise_has_sigma_times_the_bound_over_the_expected_batch_size() {
    const DRAWS: usize = 100_000;
    for (clip_norm, sigma, expected) in [(1.0, 1.1, 8.0), (5.0, 0.5, 100.0)] {
        let link = differentially_private_aggregate(clip_norm, sigma, expected);
        let program = program(&link.seed(Seed::from(19))).unwrap();
        let output = step::<f64>(&program, &batch([[0.0; DRAWS]]));
        let squares = w(&output).iter().map(|x| x * x).sum::<f64>();
        let stddev = (squares / DRAWS as f64).sqrt();
        let wanted = sigma * clip_norm / expected;
        assert!((stddev / wanted - 1.0).abs() < 0.02, "{stddev} {wanted}");
    }
}

/// jax-privacy#255
#[test]
fn case_19_without_noise_the_sum_is_exact() {
    // Each within the bound, and sums of few bits.
    let rows = [[0.5, 0.25, 0.0], [-0.25, 0.125, 0.0], [0.5, 0.5, -0.5]];
    let output = step::<f32>(&aggregate(0.0), &batch(rows));
    assert_eq!(w(&output), [0.75 / 8.0, 0.875 / 8.0, -0.5 / 8.0]);
}
