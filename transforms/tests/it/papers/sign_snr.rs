//! Roulet and Agarwala, arXiv 2510.00236: the signal-to-noise ratio of the three placements of the sign.

use pergrad_transforms::Program;
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{Runner, StepInput};

use crate::model::{add_leaf, reference, w};
use crate::random::Random;

/// The error function by its Maclaurin series, which converges everywhere and is right to 1e-12 for `x < 3`.
pub(crate) fn erf(x: f64) -> f64 {
    let (mut power, mut sum) = (x, 0.0);
    for n in 0..200_u32 {
        sum += power / f64::from(2 * n + 1);
        power *= -x * x / f64::from(n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// The ratio after a sign, of a normal variable with ratio `s` before it.
fn after_sign(s: f64) -> f64 {
    let mean = erf(s / std::f64::consts::SQRT_2);
    mean / (1.0 - mean * mean).sqrt()
}

/// What a stationary average of independent steps gains.
fn gain(beta: f64) -> f64 {
    ((1.0 + beta) / (1.0 - beta)).sqrt()
}

/// `[Micro, Sign, SignEMA, no sign]` for a ratio `r` of each of `b` examples.
pub(crate) fn predicted(r: f64, b: f64, beta: f64) -> [f64; 4] {
    let mean = r * b.sqrt();
    [
        after_sign(r) * b.sqrt() * gain(beta),
        after_sign(mean) * gain(beta),
        after_sign(mean * gain(beta)),
        mean * gain(beta),
    ]
}

fn assert_digits(got: f64, expected: f64, digits: f64) {
    assert!((got - expected).abs() < digits, "{got} is not {expected}");
}

#[test]
fn the_error_function_has_its_known_values() {
    assert_digits(erf(0.5), 0.520_499_877_813_046_5, 1e-14);
    assert_digits(erf(1.0), 0.842_700_792_949_714_9, 1e-14);
    assert_digits(erf(2.0), 0.995_322_265_018_952_7, 1e-13);
}

#[test]
fn a_sign_loses_signal_below_the_crossing_and_gains_above() {
    let share = |s: f64| after_sign(s) / s;
    assert_digits(share(1e-6), (2.0 / std::f64::consts::PI).sqrt(), 1e-9);
    assert_digits(share(1e-6), 0.797_885, 5e-7);
    assert_digits(share(1.187_040), 1.0, 1e-6);
    let shares: Vec<f64> = (1..40).map(|i| share(f64::from(i) * 0.1)).collect();
    assert!(shares.is_sorted(), "it rises");
}

#[test]
fn the_table_of_predicted_ratios() {
    assert_digits(gain(0.9), 4.3589, 5e-5);
    for (r, b, expected) in [
        (0.05, 64.0, [1.3917, 1.4256, 2.3271, 1.7436]),
        (0.05, 256.0, [2.7834, 3.0737, 31.9892, 3.4871]),
        (0.01, 64.0, [0.2782, 0.2785, 0.2834, 0.3487]),
    ] {
        let got = predicted(r, b, 0.9);
        for (got, expected) in got.iter().zip(expected) {
            assert_digits(*got, expected, 5e-5);
        }
        assert!(got[..3].is_sorted(), "the later the sign, the better");
    }
}

/// Runs the real chains on normal gradients of ratio `r`, one independent experiment a parameter, and returns the last
/// updates of each chain.
fn simulate(chains: &[Program], r: f64, examples: usize, params: usize) -> Vec<Vec<f64>> {
    const STEPS: usize = 60; // 0.9^60 = 0.002: the average has forgotten its start
    let mut random = Random::new(2510);
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[params], 0, vec![]);
    let mut runs: Vec<_> = chains.iter().map(|c| reference::<f32>(c, &input)).collect();
    let mut last = vec![];
    for _ in 0..STEPS {
        let grads = random.normals(examples * params);
        let grads = grads.iter().map(|noise| r + noise).collect();
        add_leaf(&mut input, "w", &[params], examples, grads);
        last = runs
            .iter_mut()
            .map(|run| w(&run.step(&input).unwrap()).to_vec())
            .collect();
    }
    last
}

/// Mean over standard deviation, and the standard error of that: by the delta method, from the first four moments.
#[allow(clippy::cast_precision_loss)]
fn ratio_with_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |k: i32| values.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
    let (variance, skew, kurtosis) = (moment(2), moment(3), moment(4));
    let ratio = mean / variance.sqrt();
    let spread = 1.0 - ratio * skew / variance.powf(1.5)
        + ratio * ratio * (kurtosis / (variance * variance) - 1.0) / 4.0;
    (ratio, (spread / n).sqrt())
}

#[test]
fn the_three_placements_have_the_predicted_ratio() {
    let (r, b, beta) = (0.05, 64, 0.9);
    let chains = [
        program(&micro_sign_sgd(1.0).beta(beta)).unwrap(),
        program(&sign_sgd(1.0).beta(beta)).unwrap(),
        program(&sign_ema(1.0).beta(beta)).unwrap(),
        program(&chain((mean(), ema(beta).debias(false), scale(-1.0)))).unwrap(),
    ];
    let names = ["micro_sign_sgd", "sign_sgd", "sign_ema", "no sign"];
    let updates = simulate(&chains, r, b, 4000);
    let expected = predicted(r, 64.0, beta);
    for ((name, updates), expected) in names.iter().zip(&updates).zip(expected) {
        let (ratio, error) = ratio_with_error(updates);
        let away = (-ratio - expected) / error;
        println!(
            "{name}: {:.4} +- {error:.4}, predicted {expected:.4}",
            -ratio
        );
        assert!(away.abs() < 4.0, "{name} is {away} standard errors away");
        assert!(error < 0.05 * expected, "{name}: the test could not fail");
    }
}
