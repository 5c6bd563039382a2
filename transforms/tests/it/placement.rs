//! The predicted signal-to-noise ratio of the places of a sign, against a series of the error function and against real chains.

use pergrad_transforms::Error;
use pergrad_transforms::placement::{
    CROSSING, PlacementPrediction, PlacementSnr, SignPlacement, ema_gain, erf, predict_placement,
    snr_after_sign,
};
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{Runner, StepInput};
use proptest::prelude::*;

use crate::model::{add_leaf, batch, reference, step, w};
use crate::papers::sign_snr;
use crate::random::Random;

const INF: f64 = f64::INFINITY;

fn in_order(snr: PlacementSnr) -> [f64; 4] {
    [snr.micro_sign, snr.sign, snr.sign_ema, snr.no_sign]
}

#[track_caller]
fn assert_near(got: f64, expected: f64, within: f64) {
    assert!(
        (got - expected).abs() <= within,
        "{got} is not {expected} within {within}"
    );
}

#[test]
fn the_error_function_is_its_series() {
    for i in -30..=30 {
        let x = f64::from(i) * 0.1;
        assert_near(erf(x), sign_snr::erf(x), 1e-12);
    }
}

#[test]
fn the_ratio_after_a_sign_has_its_known_values() {
    assert_near(snr_after_sign(1e-6) / 1e-6, 0.797_885, 5e-7);
    assert_near(CROSSING, 1.187_040, 5e-7);
    assert_near(snr_after_sign(CROSSING), CROSSING, 1e-14);
    assert!(snr_after_sign(1.1) < 1.1 && snr_after_sign(1.3) > 1.3);
    assert_eq!(snr_after_sign(0.0), 0.0);
    assert_eq!(snr_after_sign(-0.7), -snr_after_sign(0.7));
    assert_eq!(snr_after_sign(INF), INF);
    assert_eq!(snr_after_sign(39.0), INF);
    assert!(snr_after_sign(f64::NAN).is_nan());
}

/// Where `erf` is 1 to the last bit, by the asymptotic series of what is left of it.
#[test]
fn the_ratio_after_a_sign_keeps_its_digits_where_noise_is_rare() {
    for s in [9.0_f64, 15.0, 30.0] {
        let square = s * s;
        let series = 1.0 - 1.0 / square + 3.0 / square.powi(2) - 15.0 / square.powi(3)
            + 105.0 / square.powi(4)
            - 945.0 / square.powi(5);
        let left = (2.0 / std::f64::consts::PI).sqrt() / s * (-square / 2.0).exp() * series;
        let expected = (2.0 * left).powf(-0.5);
        assert_near(snr_after_sign(s) / expected, 1.0, 1e-6);
    }
}

#[test]
fn a_moving_average_gains_what_is_known() {
    assert_near(ema_gain(0.9), 4.3589, 5e-5);
    assert_eq!(ema_gain(0.0), 1.0);
    assert_eq!(ema_gain(1.0), INF);
    assert!(ema_gain(1.1).is_nan());
}

/// The gain from its definition: the weights of a moving average and their squares.
#[test]
fn the_gain_is_that_of_the_weights() {
    for beta in [0.0_f64, 0.5, 0.9, 0.99] {
        let weights: Vec<f64> = (0..4000).map(|k| (1.0 - beta) * beta.powi(k)).collect();
        let sum: f64 = weights.iter().sum();
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        assert_near(ema_gain(beta), sum / squares.sqrt(), 1e-10);
    }
}

#[test]
fn the_ratios_are_those_of_the_paper() {
    for (r, b, expected) in [
        (0.05, 64, [1.3917, 1.4256, 2.3271, 1.7436]),
        (0.05, 256, [2.7834, 3.0737, 31.9892, 3.4871]),
        (0.01, 64, [0.2782, 0.2785, 0.2834, 0.3487]),
    ] {
        let got = in_order(PlacementSnr::new(r, b, 0.9));
        for (got, expected) in got.into_iter().zip(expected) {
            assert_near(got, expected, 5e-5);
        }
    }
}

proptest! {
    #[test]
    fn in_one_coordinate_a_later_sign_is_no_worse(
        exponent in -8.0..3.0_f64,
        batch in 1..5000_usize,
        beta in 0.0..0.999_f64,
    ) {
        let r = 10_f64.powf(exponent);
        let [micro, sign, ema, _] = in_order(PlacementSnr::new(r, batch, beta));
        let slack = 1.0 + 1e-12;
        prop_assert!(micro <= sign * slack && sign <= ema * slack, "{micro} {sign} {ema}");
    }

    #[test]
    fn the_ratios_are_those_of_a_series(r in 0.0..0.4_f64, batch in 1..9_usize, beta in 0.0..0.7_f64) {
        let expected = sign_snr::predicted(r, f64::from(u32::try_from(batch).unwrap()), beta);
        for (got, expected) in in_order(PlacementSnr::new(r, batch, beta)).into_iter().zip(expected) {
            prop_assert!((got - expected).abs() <= 1e-7 * (1.0 + expected), "{got} {expected}");
        }
    }
}

#[test]
fn the_order_is_that_of_the_ratios() {
    use SignPlacement::{MicroSign, NoSign, Sign, SignEma};
    let order = |r| PlacementSnr::new(r, 64, 0.9).order();
    assert_eq!(order(0.05), [SignEma, NoSign, Sign, MicroSign]);
    assert_eq!(order(0.01), [NoSign, SignEma, Sign, MicroSign]);
    assert_eq!(order(0.0), [NoSign, SignEma, Sign, MicroSign]);
    let late = PlacementSnr {
        no_sign: f64::NAN,
        ..PlacementSnr::new(0.05, 256, 0.9)
    };
    assert_eq!(late.order(), [SignEma, Sign, MicroSign, NoSign]);
}

fn predicted(mean: &[f64], variance: &[f64]) -> PlacementPrediction {
    predict_placement(mean, variance, 64, 0.9).unwrap()
}

#[test]
fn one_coordinate_is_typical_and_the_whole() {
    let prediction = predicted(&[-0.1], &[4.0]);
    let expected = in_order(PlacementSnr::new(0.05, 64, 0.9));
    for (at, expected) in expected.into_iter().enumerate() {
        assert_near(in_order(prediction.typical)[at], expected, 1e-12);
        assert_near(in_order(prediction.whole)[at], expected, 1e-12);
    }
}

#[test]
fn quantiles_are_positions_in_the_sorted_ratios() {
    let prediction = predicted(&[0.3, -0.1, 0.0, 2.0, 1.0], &[1.0, 1.0, 5.0, 4.0, 0.0]);
    let quantiles = [0.0, 0.25, 0.375, 0.5, 0.75, 1.0].map(|share| prediction.quantile(share));
    let expected = [0.0, 0.1, 0.2, 0.3, 1.0, INF];
    for (got, expected) in quantiles.into_iter().zip(expected) {
        assert!(got == expected || (got - expected).abs() < 1e-15);
    }
    assert!(
        [-0.1, 1.1, f64::NAN]
            .iter()
            .all(|share| prediction.quantile(*share).is_nan())
    );
}

#[test]
fn a_coordinate_without_signal_has_the_ratio_0() {
    let prediction = predicted(&[0.0], &[2.0]);
    assert_eq!((prediction.coordinates, prediction.silent), (1, 0));
    assert_eq!(in_order(prediction.typical), [0.0; 4]);
    assert_eq!(in_order(prediction.whole), [0.0; 4]);
}

#[test]
fn a_coordinate_without_noise_has_an_infinite_ratio_and_leaves_the_whole_finite() {
    assert_eq!(in_order(predicted(&[0.1], &[0.0]).whole), [INF; 4]);
    let prediction = predicted(&[3.0, 0.0], &[0.0, 1.0]);
    assert_eq!(prediction.quantile(1.0), INF);
    // Signal 1 and noise 1, both signs; the sign of examples averages its noise away by 8 and the gain.
    let gain = ema_gain(0.9);
    let [micro, sign, ema, none] = in_order(prediction.whole);
    for (got, expected) in [(micro, 8.0 * gain), (sign, gain), (ema, 1.0)] {
        assert_near(got, expected, 1e-12);
    }
    assert_near(none, 3.0 * 8.0 * gain, 1e-12);
}

#[test]
fn silent_coordinates_are_left_out() {
    let prediction = predicted(&[0.0, 0.1, 0.0], &[0.0, 1.0, 0.0]);
    assert_eq!((prediction.coordinates, prediction.silent), (1, 2));
    assert_eq!(prediction.whole, predicted(&[0.1], &[1.0]).whole);
    for nothing in [predicted(&[], &[]), predicted(&[0.0; 2], &[0.0; 2])] {
        assert_eq!(nothing.coordinates, 0);
        assert!(in_order(nothing.whole).iter().all(|x| x.is_nan()));
        assert!(in_order(nothing.typical).iter().all(|x| x.is_nan()));
        assert!(nothing.quantile(0.5).is_nan());
    }
}

#[test]
fn statistics_that_make_no_sense_are_refused() {
    let refused = |mean: &[f64], variance: &[f64], batch, beta| -> Error {
        predict_placement(mean, variance, batch, beta).unwrap_err()
    };
    insta::assert_snapshot!(refused(&[0.0, f64::NAN], &[1.0, 1.0], 4, 0.9), @"`mean[1]` must be finite, but it is NaN");
    insta::assert_snapshot!(refused(&[0.0, 1.0], &[1.0, -0.5], 4, 0.9), @"`variance[1]` must be finite and not negative, but it is -0.5");
    insta::assert_snapshot!(refused(&[0.0, 1.0], &[INF, 0.5], 4, 0.9), @"`variance[0]` must be finite and not negative, but it is inf");
    insta::assert_snapshot!(refused(&[0.0, 1.0], &[1.0], 4, 0.9), @"`variance` must have 2 numbers, but it has 1: give one for each");
    insta::assert_snapshot!(refused(&[0.0], &[1.0], 0, 0.9), @"`batch` must be at least 1, but it is 0");
    insta::assert_snapshot!(refused(&[0.0], &[1.0], 4, 1.0), @"`predict_placement.beta` must be a number of at least 0 and below 1, but it is 1");
}

const REPLICATES: usize = 1500;
const EXAMPLES: usize = 16;
/// Mean and deviation of single gradients.
const COORDINATES: [(f64, f64); 4] = [(0.0, 1.0), (0.1, 2.0), (0.06, 0.5), (3.0, 3.0)];

/// The last updates of four chains: for each coordinate, independent replicates of it.
fn simulated() -> Vec<Vec<f64>> {
    const STEPS: usize = 40; // 0.8^40 = 0.0001: the average has forgotten its start
    let beta = 0.8;
    let chains = [
        program(&micro_sign_sgd(1.0).beta(beta)).unwrap(),
        program(&sign_sgd(1.0).beta(beta)).unwrap(),
        program(&sign_ema(1.0).beta(beta)).unwrap(),
        program(&chain((mean(), ema(beta).debias(false), scale(-1.0)))).unwrap(),
    ];
    let params = COORDINATES.len() * REPLICATES;
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[params], 0, vec![]);
    let mut runs: Vec<_> = chains.iter().map(|c| reference::<f32>(c, &input)).collect();
    let (mut random, mut last) = (Random::new(225), vec![]);
    for _ in 0..STEPS {
        let mut grads = random.normals(EXAMPLES * params);
        for (at, grad) in grads.iter_mut().enumerate() {
            let (mean, deviation) = COORDINATES[at % params / REPLICATES];
            *grad = mean + deviation * *grad;
        }
        add_leaf(&mut input, "w", &[params], EXAMPLES, grads);
        let updates = runs
            .iter_mut()
            .map(|run| w(&run.step(&input).unwrap()).to_vec());
        last = updates.collect();
    }
    last
}

/// `||E u|| / sqrt(E ||u - E u||^2)` of some replicates.
#[allow(clippy::cast_precision_loss)]
fn measured(updates: &[f64], replicates: std::ops::Range<usize>) -> f64 {
    let (mut signal, mut noise) = (0.0, 0.0);
    let n = replicates.len() as f64;
    for coordinate in updates.chunks(REPLICATES) {
        let values = &coordinate[replicates.clone()];
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        signal += mean * mean - variance / n;
        noise += variance;
    }
    (signal / noise).sqrt()
}

#[test]
fn whole_updates_of_the_chains_have_the_predicted_ratio() {
    let mean = COORDINATES.map(|(mean, _)| mean);
    let variance = COORDINATES.map(|(_, deviation)| deviation * deviation);
    let expected = predict_placement(&mean, &variance, EXAMPLES, 0.8).unwrap();
    for (updates, expected) in simulated().iter().zip(in_order(expected.whole)) {
        let parts: Vec<f64> = (0..10)
            .map(|part| measured(updates, part * 150..(part + 1) * 150))
            .collect();
        let mean = parts.iter().sum::<f64>() / 10.0;
        let spread = parts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 9.0;
        let error = (spread / 10.0).sqrt();
        let away = (measured(updates, 0..REPLICATES) - expected) / error;
        assert!(away.abs() < 4.0, "{away} standard errors from {expected}");
        assert!(error < 0.05 * expected, "the test could not fail");
    }
}

/// A loop over the examples, by sums of squares.
#[test]
fn coordinate_statistics_are_the_mean_and_the_unbiased_variance() {
    let rows = [
        [1.0, -2.0, 0.0],
        [3.0, 0.5, 0.0],
        [-1.0, 4.0, 0.0],
        [0.5, 0.25, 0.0],
    ];
    let mut input = batch(rows);
    add_leaf(&mut input, "v", &[1], 4, vec![1.0, f64::NAN, 0.0, 2.0]);
    let output = step::<f64>(&program(&coordinate_statistics()).unwrap(), &input);
    assert_eq!(w(&output), rows.concat());
    let mean = &output.metrics["coordinate_statistics.mean"];
    let variance = &output.metrics["coordinate_statistics.variance"];
    // The leaves are in the order of their names.
    assert!(mean[0].is_nan() && variance[0].is_nan());
    for p in 0..3 {
        let sum: f64 = rows.iter().map(|row| row[p]).sum();
        let squares: f64 = rows.iter().map(|row| row[p] * row[p]).sum();
        assert_near(mean[1 + p], sum / 4.0, 1e-15);
        assert_near(variance[1 + p], (squares - sum * sum / 4.0) / 3.0, 1e-14);
    }
}

#[test]
fn coordinate_statistics_of_one_example_are_refused() {
    let program = program(&chain((coordinate_statistics(), mean()))).unwrap();
    insta::assert_snapshot!(program.check_batch(1).unwrap_err(), @"`coordinate_statistics` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
}

#[test]
fn what_is_measured_predicts() {
    let mut random = Random::new(12);
    let grads: Vec<f64> = (0..4000 * 3)
        .map(|at| [0.5, -0.2, 4.0][at % 3] + [1.0, 2.0, 4.0][at % 3] * random.normal())
        .collect();
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[3], 4000, grads);
    let output = step::<f64>(&program(&coordinate_statistics()).unwrap(), &input);
    let prediction = predict_placement(
        &output.metrics["coordinate_statistics.mean"],
        &output.metrics["coordinate_statistics.variance"],
        32,
        0.9,
    );
    let prediction = prediction.unwrap();
    // The standard error of a ratio is about 1 / sqrt(4000).
    for (share, expected) in [(0.0, 0.1), (0.5, 0.5), (1.0, 1.0)] {
        assert_near(prediction.quantile(share), expected, 4.0 * 0.02);
    }
}
