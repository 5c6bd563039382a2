//! Whether a batch is large enough: the norm, inner product and orthogonality tests, and CABS.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;

use super::{complaint, dot, mean_row, noisy, number, variances};
use crate::model::{batch, column};
use crate::random::Random;
use crate::tolerance::assert_close;

const INF: f64 = f64::INFINITY;

fn theta(input: &StepInput) -> f64 {
    number(&monitor::norm_test(), "norm_test.theta", input)
}

fn inner(input: &StepInput) -> f64 {
    number(
        &monitor::inner_product_test(),
        "inner_product_test.theta",
        input,
    )
}

fn nu(input: &StepInput) -> f64 {
    number(
        &monitor::orthogonality_test(),
        "orthogonality_test.nu",
        input,
    )
}

/// Without its part along the mean, example by example.
fn across(row: &[f64], mean: &[f64]) -> Vec<f64> {
    let along = dot(row, mean) / dot(mean, mean);
    row.iter().zip(mean).map(|(g, m)| g - along * m).collect()
}

#[test]
fn the_three_tests_are_loops_over_the_examples() {
    let mut random = Random::new(101);
    for examples in [2, 3, 8] {
        let (input, rows) = noisy(&mut random, examples, 1.0);
        let (b, mean) = (examples as f64, mean_row(&rows));
        let length = dot(&mean, &mean);
        let trace: f64 = variances(&rows, 1).iter().sum();
        let expected = (trace / (b * length)).sqrt();
        assert_close::<f64>(&[theta(&input)], &[expected], "norm test");

        let products: Vec<Vec<f64>> = rows.iter().map(|row| vec![dot(row, &mean)]).collect();
        let expected = (variances(&products, 1)[0] / b).sqrt() / length;
        assert_close::<f64>(&[inner(&input)], &[expected], "inner product test");

        let rests = rows.iter().map(|row| across(row, &mean));
        let squares: f64 = rests.map(|rest| dot(&rest, &rest)).sum();
        let expected = (squares / ((b - 1.0) * b) / length).sqrt();
        assert!(
            (nu(&input) - expected).abs() < 1e-12 * expected,
            "{examples}"
        );

        let sum = inner(&input).powi(2) + nu(&input).powi(2);
        assert_close::<f64>(&[sum], &[theta(&input).powi(2)], "along and across");
    }
}

/// By hand: the mean is [2, 0] and the variance 2 along each axis, so 4 / (2 * 4), 2 * 4 / 2 / 16 and 2 / (2 * 4).
#[test]
fn the_three_tests_of_two_examples() {
    let input = batch([[1.0, -1.0], [3.0, 1.0]]);
    assert_close::<f64>(&[theta(&input)], &[0.5_f64.sqrt()], "norm test");
    assert_close::<f64>(&[inner(&input)], &[0.5], "inner product test");
    assert_close::<f64>(&[nu(&input)], &[0.5], "orthogonality test");
}

#[test]
fn examples_that_are_alike_pass_every_test() {
    let alike = batch([[0.1, -0.7], [0.1, -0.7], [0.1, -0.7]]);
    for value in [theta(&alike), inner(&alike), nu(&alike)] {
        assert!((0.0..1e-7).contains(&value), "{value:e}");
    }
}

#[test]
fn zeros_pass_every_test() {
    let zeros = batch([[0.0; 2]; 3]);
    assert_eq!([theta(&zeros), inner(&zeros), nu(&zeros)], [0.0; 3]);
}

#[test]
fn a_mean_of_zeros_has_no_direction() {
    let opposite = batch([[1.0, -2.0], [-1.0, 2.0]]);
    assert_eq!(
        [theta(&opposite), inner(&opposite), nu(&opposite)],
        [INF, 0.0, INF]
    );
}

#[test]
fn noise_along_and_across_the_mean_is_told_apart() {
    let along = batch([[1.0, 1.0], [3.0, 3.0]]);
    assert!(inner(&along) > 0.4 && nu(&along) < 1e-7);
    let across = batch([[1.0, 1.0], [1.0, -1.0]]);
    assert!(inner(&across) < 1e-7 && nu(&across) > 0.4);
}

#[test]
fn a_nan_or_an_infinity_shows_in_every_test() {
    for bad in [f64::NAN, INF] {
        let input = batch([[1.0, bad], [3.0, 1.0]]);
        for value in [
            theta(&input),
            inner(&input),
            nu(&input),
            cabs(0.1, 1.0, &input),
        ] {
            assert!(value.is_nan(), "{bad}: {value}");
        }
    }
}

#[test]
fn one_example_is_refused_by_name() {
    let one = column(&[3.0]);
    insta::assert_snapshot!(complaint(&monitor::norm_test(), &one).unwrap(), @"`norm_test` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
    insta::assert_snapshot!(complaint(&monitor::inner_product_test(), &one).unwrap(), @"`inner_product_test` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
    insta::assert_snapshot!(complaint(&monitor::orthogonality_test(), &one).unwrap(), @"`orthogonality_test` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
}

fn cabs(rate: f64, loss: f64, input: &StepInput) -> f64 {
    let mut input = input.clone();
    input.extras.insert("loss".into(), vec![loss]);
    number(&monitor::cabs(rate), "cabs.batch_size", &input)
}

#[test]
fn cabs_is_a_loop_over_the_examples() {
    let mut random = Random::new(102);
    for examples in [2, 3, 8] {
        let (input, rows) = noisy(&mut random, examples, 1.0);
        let trace: f64 = variances(&rows, 0).iter().sum();
        let expected = 0.3 * trace / 0.7;
        assert_close::<f64>(&[cabs(0.3, 0.7, &input)], &[expected], "batch size");
    }
}

#[test]
fn cabs_at_its_edges() {
    let noisy = column(&[1.0, 3.0]);
    assert_eq!(cabs(0.5, 0.0, &noisy), INF);
    assert_eq!(cabs(0.5, -1.0, &noisy), -0.5);
    assert_eq!(cabs(0.0, 1.0, &noisy), 0.0);
    assert_eq!(cabs(0.5, 0.0, &column(&[0.0, 0.0])), 0.0);
    assert_eq!(cabs(0.5, 1.0, &column(&[3.0])), 0.0);
    let alike = cabs(0.5, 1.0, &column(&[0.7; 5]));
    assert!((0.0..1e-15).contains(&alike), "{alike:e}");
    let mut empty = column(&[]);
    empty.extras.insert("loss".into(), vec![1.0]);
    insta::assert_snapshot!(complaint(&monitor::cabs(0.1), &empty).unwrap(), @"`cabs` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
}

#[test]
fn cabs_and_the_optimizer_share_their_learning_rate() {
    let names = |rate: f64| -> Vec<String> {
        let program = program(&chain((monitor::cabs(rate), sgd(0.1)))).unwrap();
        program.hypers().iter().map(|h| h.name.clone()).collect()
    };
    assert_eq!(names(0.1), ["learning_rate"]);
    assert_eq!(names(0.2), ["learning_rate", "learning_rate_2"]);
}
