//! Definitions and the place of a link.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;
use pergrad_transforms::{PerExample, Transform};

use crate::model::{add_leaf, batch, column, step, steps, w};
use crate::tolerance::{Tolerated, assert_close};

fn number<T: Tolerated>(chain: &impl Transform<PerExample>, input: &StepInput) -> f64 {
    w(&step::<T>(&program(chain).unwrap(), input))[0]
}

/// Asserts the first update of a chain over numbers, in f32 and f64.
#[track_caller]
fn assert_number(chain: &impl Transform<PerExample>, values: &[f64], expected: f64) {
    let input = column(values);
    assert_close::<f32>(&[number::<f32>(chain, &input)], &[expected], "f32");
    assert_close::<f64>(&[number::<f64>(chain, &input)], &[expected], "f64");
}

const Y: [f64; 4] = [0.0, 2.0, 4.0, 6.0];

#[test]
fn case_09_mean_of_squares_is_not_square_of_mean() {
    assert_number(&mean(), &Y, 3.0);
    assert_number(&square().then(mean()), &Y, 14.0);
    assert_number(&mean().then(square()), &Y, 9.0);
    assert_number(&variance(0), &Y, 5.0);
    assert_number(&variance(1), &Y, 20.0 / 3.0);
    let gsnr = |ddof| zip(mean().then(square()), variance(ddof)).map(|m, v| m / v);
    assert_number(&gsnr(0), &Y, 1.8);
    assert_number(&gsnr(1), &Y, 1.35);
}

#[test]
fn case_10_sign_placement() {
    let g = [-1.0, -1.0, 3.0];
    assert_number(&chain((sign(), mean())), &g, -1.0 / 3.0);
    assert_number(&chain((mean(), sign())), &g, 1.0);

    let inputs = [column(&g), column(&[-3.0, -3.0, 3.0])];
    let at_each_step = |chain: &dyn Fn() -> pergrad_transforms::Program| -> Vec<f64> {
        let outputs = steps::<f64>(&chain(), &inputs);
        outputs.iter().map(|output| w(output)[0]).collect()
    };
    let average = at_each_step(&|| program(&chain((mean(), ema(0.9)))).unwrap());
    let second = (0.1 * 0.9 * (1.0 / 3.0) - 0.1) / 0.19;
    assert_close::<f64>(&average, &[1.0 / 3.0, second], "mean, ema");
    assert!((second - -0.36842).abs() < 5e-6);
    let last = at_each_step(&|| program(&chain((mean(), ema(0.9), sign()))).unwrap());
    assert_eq!(last, [1.0, -1.0]);
    let first = at_each_step(&|| program(&chain((sign(), mean(), ema(0.9)))).unwrap());
    assert_close::<f64>(&first, &[-1.0 / 3.0; 2], "sign, mean, ema");
}

#[test]
fn case_11_second_moment_placement() {
    assert_number(&adam(1.0).eps(0.0), &Y, -1.0);
    assert_number(&micro_adam(1.0).eps(0.0), &Y, -0.801_783_725_737_273_2);
    let biased = adam_with_second_moment(1.0, variance(0)).eps(0.0);
    assert_number(&biased, &Y, -1.341_640_786_499_874);
    assert_number(&micro_adam_var(1.0).eps(0.0), &Y, -1.161_895_003_862_225);
}

#[test]
fn case_11_one_example_has_no_variance() {
    let error = |chain: &dyn Fn() -> pergrad_transforms::Program| {
        use pergrad_transforms::runner::Runner;
        let input = column(&[3.0]);
        crate::model::reference::<f64>(&chain(), &input)
            .step(&input)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(error(&|| program(&micro_adam_var(0.1)).unwrap()), @"`micro_adam_var.ratio.variance` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
    insta::assert_snapshot!(error(&|| program(&micro_adam_msq(0.1)).unwrap()), @"`micro_adam_msq.ratio.unbiased_square_of_mean` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
    // Nothing by nothing is nothing, also for the biased variance.
    assert_number(
        &adam_with_second_moment(1.0, variance(0)).eps(0.0),
        &[0.0],
        0.0,
    );
}

/// BackPACK's formula `E[x^2] - E[x]^2` gives 0 for both rows in f32.
#[test]
fn case_12_variance_does_not_cancel() {
    for (offset, unit, expected) in [(1e4, 1.0, 1.25), (3e4, 0.25, 0.078_125)] {
        let values: Vec<f64> = (0..4).map(|i| offset + unit * f64::from(i)).collect();
        let naive = {
            let x: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            let mean = x.iter().sum::<f32>() / 4.0;
            x.iter().map(|x| x * x).sum::<f32>() / 4.0 - mean * mean
        };
        assert_ne!(f64::from(naive), expected, "the row is a hard one");
        assert_eq!(number::<f32>(&variance(0), &column(&values)), expected);
        let root = number::<f32>(&variance(0).then(sqrt()), &column(&values));
        assert_close::<f32>(&[root], &[expected.sqrt()], "its root");
    }
    let same = column(&[0.1; 7]);
    assert!(number::<f32>(&variance(1), &same) >= 0.0);
}

/// backpack#49, pytorch#80892: the factor between a sum and a mean is B, and a chain says which one it takes.
#[test]
fn case_14_loss_mean_against_sum() {
    // Of 0.5 * (x * w - y)^2 at w = 0 and x = 1: the gradient of each example's own loss.
    let per_example: Vec<f64> = Y.iter().map(|y| 1.0 * (1.0 * 0.0 - y)).collect();
    assert_eq!(per_example, [0.0, -2.0, -4.0, -6.0]);
    assert_number(&mean(), &per_example, -3.0);
    assert_number(&sum(), &per_example, -12.0);
    assert_number(&sgd(0.5), &per_example, 1.5);
    assert_number(&chain((sum(), sgd(0.5))), &per_example, 6.0);
}

/// nanoGNS, cockpit#28
#[test]
fn case_15_noise_scale() {
    for link in [monitor::gns(), monitor::gns().by_variance()] {
        noise_scale_of(link);
    }
}

fn noise_scale_of(link: monitor::Gns) {
    let noise_scale = program(&chain((link.decay(0.0), mean()))).unwrap();
    let output = step::<f64>(&noise_scale, &column(&Y));
    assert_close::<f64>(&output.metrics["gns.g2"], &[22.0 / 3.0], "G^2");
    assert_close::<f64>(&output.metrics["gns.s"], &[20.0 / 3.0], "S");
    assert_close::<f64>(&output.metrics["gns.scale"], &[10.0 / 11.0], "S / G^2");

    let noise_only = step::<f64>(&noise_scale, &column(&[-1.0, 1.0]));
    assert_close::<f64>(&noise_only.metrics["gns.g2"], &[-1.0], "below 0");
    assert_eq!(noise_only.metrics["gns.scale"], [f64::INFINITY]);

    let nothing = step::<f64>(&noise_scale, &column(&[0.0, 0.0]));
    assert_eq!(nothing.metrics["gns.scale"], [0.0]);
    assert!(noise_scale.check_batch(1).is_err());
}

fn two_leaves() -> StepInput {
    let mut input = StepInput::default();
    add_leaf(&mut input, "a", &[1], 1, vec![3.0]);
    add_leaf(&mut input, "b", &[1], 1, vec![4.0]);
    input
}

fn assert_two(chain: &impl Transform<PerExample>, a: f64, b: f64) {
    let output = step::<f64>(&program(chain).unwrap(), &two_leaves());
    let got = [output.updates["a"].values[0], output.updates["b"].values[0]];
    assert_close::<f64>(&got, &[a, b], "two leaves");
}

#[test]
fn case_16_global_against_per_leaf_clip() {
    assert_two(&chain((mean(), clip_by_global_norm(1.0))), 0.6, 0.8);
    assert_two(&chain((clip_per_example(1.0), mean())), 0.6, 0.8);
    let share = 0.5_f64.sqrt();
    assert_two(
        &chain((clip_per_example(1.0).per_leaf(), mean())),
        share,
        share,
    );
    assert_two(
        &chain((normalize_per_example().per_leaf(), mean())),
        1.0,
        1.0,
    );
}

#[test]
fn case_16_bounds_by_size_are_shares_of_the_squared_bound() {
    let mut input = batch([[0.0, 0.0, 6.0]]);
    add_leaf(&mut input, "v", &[1], 1, vec![4.0]);
    let clip = clip_per_example(1.0).per_leaf_by_size();
    let output = step::<f64>(&program(&clip).unwrap(), &input);
    assert_close::<f64>(w(&output), &[0.0, 0.0, 0.75_f64.sqrt()], "3 of 4 elements");
    assert_close::<f64>(&output.updates["v"].values, &[0.5], "1 of 4 elements");
    assert_eq!(output.metrics["clip_per_example.num_clipped"], [1.0, 1.0]);
}

/// optax: `eps` outside the root; see the golden values for the others.
#[test]
fn case_17_adam_has_eps_outside_the_root() {
    assert_number(&adam(1.0), &[1e-6], -1e-6 / (1e-6 + 1e-8));
    assert_number(&adam(1.0).eps(1e-5), &[1e-6], -1e-6 / (1e-6 + 1e-5));
}
