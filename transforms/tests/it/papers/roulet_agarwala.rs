//! Roulet and Agarwala, arXiv 2510.00236: the Adam family and the identities between its members.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;
use pergrad_transforms::{PerExample, Transform};

use crate::model::{batch, column, step, steps, w};
use crate::random::Random;
use crate::tolerance::{Tolerated, assert_close};

/// Gradients of `0.5 * (x * w - y)^2` at `w = 0`, `x = 1`, `y = [0, 2, 4, 6]`, each by a central difference of its loss,
/// which is exact for a quadratic.
fn grads_of_squared_errors() -> ([f64; 4], [f64; 4]) {
    let y = [0.0, 2.0, 4.0, 6.0];
    let loss = |w: f64, y: f64| 0.5 * (w - y) * (w - y);
    let losses = y.map(|y| loss(0.0, y));
    let grads = y.map(|y| (loss(0.5, y) - loss(-0.5, y)) / 1.0);
    (losses, grads)
}

#[test]
fn facts_of_four_squared_errors() {
    let (losses, grads) = grads_of_squared_errors();
    assert_eq!(losses, [0.0, 2.0, 8.0, 18.0]);
    let input = column(&grads);
    fn number(chain: &impl Transform<PerExample>, input: &StepInput) -> f64 {
        w(&step::<f64>(&program(chain).unwrap(), input))[0]
    }
    let norms = step::<f64>(&program(&abs()).unwrap(), &input);
    assert_eq!(w(&norms), [0.0, 2.0, 4.0, 6.0]);
    let got = [
        number(&mean(), &input),
        number(&chain((square(), mean())), &input),
        number(&variance(0), &input),
        number(&variance(1), &input),
        number(&unbiased_square_of_mean(), &input),
    ];
    let expected = [-3.0, 14.0, 5.0, 20.0 / 3.0, 22.0 / 3.0];
    assert_close::<f64>(
        &got,
        &expected,
        "mean, q, variance, unbiased, square of mean",
    );
}

#[test]
fn the_unbiased_square_of_the_mean_has_two_formulas() {
    let g = Random::new(1).normals(7);
    let (mean, q) = (
        g.iter().sum::<f64>() / 7.0,
        g.iter().map(|g| g * g).sum::<f64>() / 7.0,
    );
    let got = step::<f64>(&program(&unbiased_square_of_mean()).unwrap(), &column(&g));
    let by_moments = (7.0 * mean * mean - q) / 6.0;
    assert_close::<f64>(w(&got), &[by_moments], "(B m^2 - q) / (B - 1)");
}

#[test]
fn copies_of_one_example_have_no_variance() {
    let g = [0.3, -7.0];
    let copies = batch([g; 5]);
    let of = |chain: &dyn Fn() -> pergrad_transforms::Program| {
        w(&step::<f64>(&chain(), &copies)).to_vec()
    };
    let squares = [g[0] * g[0], g[1] * g[1]];
    let q = of(&|| program(&chain((square(), mean()))).unwrap());
    assert_close::<f64>(&q, &squares, "q is the square of the mean");
    let estimate = of(&|| program(&unbiased_square_of_mean()).unwrap());
    assert_close::<f64>(&estimate, &squares, "nothing to correct");
    let variance = of(&|| program(&variance(1)).unwrap());
    assert!(
        variance.iter().all(|v| (0.0..1e-30).contains(v)),
        "{variance:?}"
    );
}

/// Steps of `examples` random examples of three numbers, with a mean that is not 0.
fn batches(examples: usize) -> Vec<StepInput> {
    let mut random = Random::new(16);
    let one = |random: &mut Random| {
        let rows: Vec<f64> = random.normals(examples * 3);
        let mut input = batch([[0.0; 3]]);
        let rows = rows.chunks(3).flat_map(|g| [2.0 + g[0], -3.0 + g[1], g[2]]);
        crate::model::add_leaf(&mut input, "w", &[3], examples, rows.collect());
        input
    };
    (0..5).map(|_| one(&mut random)).collect()
}

/// Asserts that two chains take the same steps, in f32 and f64.
#[track_caller]
fn assert_same(
    left: &impl Transform<PerExample>,
    right: &impl Transform<PerExample>,
    examples: usize,
) {
    #[track_caller]
    fn check<T: Tolerated>(
        left: &impl Transform<PerExample>,
        right: &impl Transform<PerExample>,
        examples: usize,
    ) {
        let inputs = batches(examples);
        let left = steps::<T>(&program(left).unwrap(), &inputs);
        let right = steps::<T>(&program(right).unwrap(), &inputs);
        for (left, right) in left.iter().zip(&right) {
            assert_close::<T>(w(left), w(right), "two chains");
        }
    }
    check::<f32>(left, right, examples);
    check::<f64>(left, right, examples);
}

#[test]
fn micro_adam_of_one_example_is_adam() {
    assert_same(&micro_adam(0.1), &adam(0.1), 1);
}

#[test]
fn micro_sign_sgd_of_one_example_is_sign_sgd() {
    assert_same(&micro_sign_sgd(0.1), &sign_sgd(0.1).beta(0.9), 1);
}

#[test]
fn sign_ema_without_memory_is_sign_sgd() {
    assert_same(&sign_ema(0.1).beta(0.0), &sign_sgd(0.1), 4);
}

#[test]
fn signum_is_sign_ema() {
    assert_same(&signum(0.1), &sign_ema(0.1), 4);
}

#[test]
fn the_interpolation_at_1_and_1_over_b_is_adam() {
    assert_same(&adam_interpolation(0.1, 1.0, 1.0 / 8.0), &adam(0.1), 8);
}

/// `(mean^2 - v/B) + v` is `mean^2 + v (B - 1)/B`, and that is the mean of the squares.
#[test]
fn the_interpolation_at_1_and_1_is_micro_adam() {
    assert_same(&adam_interpolation(0.1, 1.0, 1.0), &micro_adam(0.1), 8);
}

#[test]
fn the_interpolation_at_0_and_1_is_micro_adam_var() {
    assert_same(&adam_interpolation(0.1, 0.0, 1.0), &micro_adam_var(0.1), 8);
}

#[test]
fn the_interpolation_at_1_and_0_is_micro_adam_msq() {
    assert_same(&adam_interpolation(0.1, 1.0, 0.0), &micro_adam_msq(0.1), 8);
}

#[test]
fn adam_is_the_second_moment_of_the_mean() {
    let by_hand = adam_with_second_moment(0.1, mean().then(square()));
    assert_same(&by_hand, &adam(0.1), 8);
}

/// The clamp comes after the average: an estimate that is below 0 at one step still counts in the average.
#[test]
fn micro_adam_msq_clamps_the_average_and_not_the_estimate() {
    let below = [-2.0, 2.0]; // estimate -4
    let above = [3.0, 3.0]; // estimate 9
    let inputs = [column(&below), column(&above)];
    let outputs = steps::<f64>(&program(&micro_adam_msq(1.0)).unwrap(), &inputs);
    assert_eq!(w(&outputs[0]), [0.0], "nothing by eps");
    let second = (0.999 * 0.001 * -4.0 + 0.001 * 9.0) / (1.0 - 0.999_f64.powi(2));
    let first = 0.1 * 3.0 / (1.0 - 0.81);
    let expected = -first / (second.sqrt() + 1e-8);
    // 1 - 0.999^2 cancels three digits.
    assert!((w(&outputs[1])[0] / expected - 1.0).abs() < 1e-12);
}

/// Per token and per example are different numbers, and the program takes what the caller calls an example.
#[test]
fn the_sum_over_tokens_comes_before_the_square() {
    let tokens = [[1.0, -1.0], [2.0, 5.0]]; // two examples of two tokens
    let examples = tokens.map(|t| t[0] + t[1]);
    let q = program(&chain((square(), sum()))).unwrap();
    assert_eq!(w(&step::<f64>(&q, &column(&examples))), [49.0]);
    assert_eq!(w(&step::<f64>(&q, &column(&tokens.concat()))), [31.0]);
}
