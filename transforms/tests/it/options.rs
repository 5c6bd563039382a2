//! Options that the library's own values do not cover, against plain loops over two numbers.

use pergrad_transforms::Program;
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::HostTensor;

use crate::model::{batch, steps, w};

const GRADS: [[f64; 2]; 5] = [
    [1.0, -2.0],
    [0.5, 1.0],
    [-1.5, 0.25],
    [2.0, 0.5],
    [0.1, -0.3],
];
const PARAMS: [[f64; 2]; 5] = [[1.0, 2.0], [0.5, 2.5], [0.25, 2.0], [1.5, 1.0], [1.0, 1.0]];
const LOSSES: [f64; 5] = [3.0, 1.0, 0.2, 2.0, 0.05];

fn run(program: &Program) -> Vec<[f64; 2]> {
    let inputs = (0..5).map(|t| {
        let mut input = batch([GRADS[t]]);
        let params = HostTensor::new([2], PARAMS[t]);
        input.params.insert("w".into(), params);
        for extra in program.extras() {
            input.extras.insert(extra.name.clone(), vec![LOSSES[t]]);
        }
        input
    });
    let outputs = steps::<f64>(program, &inputs.collect::<Vec<_>>());
    outputs
        .iter()
        .map(|output| [w(output)[0], w(output)[1]])
        .collect()
}

#[track_caller]
fn assert_run(chain: &impl Transform<pergrad_transforms::PerExample>, expected: &[[f64; 2]]) {
    let got = run(&program(chain).unwrap());
    for (g, e) in got.concat().iter().zip(expected.concat()) {
        assert!(
            (g - e).abs() <= 1e-13 * (1.0 + e.abs()),
            "{got:?} is not {expected:?}"
        );
    }
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

/// Schaipp et al., 2023, arXiv 2305.07583, with an estimated smallest loss.
#[test]
fn momo_estimates_the_smallest_loss() {
    let (rate, decay, lowest) = (0.5, 0.1, 0.01);
    let (mut m, mut loss, mut lean, mut bound) = ([0.0; 2], 0.0, 0.0, lowest);
    let mut expected = Vec::new();
    for t in 0..5 {
        let (g, p) = (GRADS[t], PARAMS[t]);
        let beta = if t == 0 { 0.0 } else { 0.9 };
        m = [0, 1].map(|i| beta * m[i] + (1.0 - beta) * g[i]);
        loss = beta * loss + (1.0 - beta) * LOSSES[t];
        lean = beta * lean + (1.0 - beta) * dot(g, p);
        let (size, along, shrink) = (dot(m, m), dot(m, p), 1.0 + rate * decay);
        let room = shrink * (loss - lean) + along;
        if room < shrink * bound {
            bound = f64::max(room / (2.0 * shrink), lowest);
        }
        let exact = (shrink * (loss - bound - lean) + along).max(0.0) / size;
        let step = exact.min(rate);
        bound = (loss + along - lean - 0.5 * step * size).max(lowest);
        expected.push([0, 1].map(|i| -rate * decay / shrink * p[i] - step * m[i]));
    }
    let momo = momo()
        .learning_rate(rate)
        .weight_decay(decay)
        .lower_bound(lowest)
        .adapt_lower_bound(true);
    assert_run(&momo, &expected);
}

#[test]
fn momo_adam_estimates_the_smallest_loss() {
    let (rate, decay, lowest, b1, b2) = (0.5, 0.1, 0.01, 0.8, 0.9);
    let (mut m, mut v, mut loss, mut lean, mut bound) = ([0.0; 2], [0.0; 2], 0.0, 0.0, lowest);
    let mut expected = Vec::new();
    for t in 0..5 {
        let (g, p) = (GRADS[t], PARAMS[t]);
        let power = i32::try_from(t).unwrap() + 1;
        let (c1, c2) = (1.0 - f64::powi(b1, power), 1.0 - f64::powi(b2, power));
        m = [0, 1].map(|i| b1 * m[i] + (1.0 - b1) * g[i]);
        v = [0, 1].map(|i| b2 * v[i] + (1.0 - b2) * g[i] * g[i]);
        loss = b1 * loss + (1.0 - b1) * LOSSES[t];
        lean = b1 * lean + (1.0 - b1) * dot(g, p);
        let direction = [0, 1].map(|i| m[i] / (1e-8 + f64::sqrt(v[i] / c2)));
        let (size, along, shrink) = (dot(m, direction), dot(m, p), 1.0 + rate * decay);
        let room = shrink * (loss - lean) + along;
        if room < shrink * c1 * bound {
            bound = f64::max(room / (2.0 * c1 * shrink), lowest);
        }
        let exact = (shrink * (loss - c1 * bound - lean) + along).max(0.0) / size;
        let step = exact.min(rate / c1);
        bound = ((loss + along - lean - 0.5 * step * size) / c1).max(lowest);
        expected.push([0, 1].map(|i| -rate * decay / shrink * p[i] - step * direction[i]));
    }
    let momo = momo_adam()
        .learning_rate(rate)
        .b1(b1)
        .b2(b2)
        .weight_decay(decay)
        .lower_bound(lowest)
        .adapt_lower_bound(true);
    assert_run(&momo, &expected);
}

/// Ivgi et al., 2023, arXiv 2302.12022; Khaled et al., 2023, arXiv 2305.16284.
#[test]
fn dog_and_dowg_begin_with_a_distance() {
    let distance = |t: usize| {
        let apart = [0, 1].map(|i| PARAMS[t][i] - PARAMS[0][i]);
        dot(apart, apart).sqrt()
    };
    let (mut dog_steps, mut dowg_steps) = (Vec::new(), Vec::new());
    let (mut reach, mut sum, mut square, mut weighted) = (0.3, 0.0, 0.2, 0.0);
    for (t, g) in GRADS.into_iter().enumerate() {
        reach = f64::max(reach, distance(t));
        sum += dot(g, g);
        dog_steps.push(g.map(|g| -g * reach / f64::sqrt(sum + 1e-8)));
        square = f64::max(square, distance(t) * distance(t));
        weighted += square * dot(g, g);
        dowg_steps.push(g.map(|g| -g * square / (f64::sqrt(weighted) + 1e-4)));
    }
    assert_run(
        &dog().init_step(DogInit::Distance).init_value(0.3),
        &dog_steps,
    );
    assert_run(&dowg().init_estim_sq_dist(0.2), &dowg_steps);
}

/// With the signs kept apart: a step at once, a rest when the sign changes, then on with a smaller one.
#[test]
fn rprop_is_a_loop_over_coordinates() {
    let (mut size, mut last) = ([0.1; 2], [0.0; 2]);
    let mut expected = Vec::new();
    for g in GRADS {
        for i in 0..2 {
            let turn = g[i] * last[i];
            if turn > 0.0 {
                size[i] = f64::min(size[i] * 1.2, 0.15);
            } else if turn < 0.0 {
                size[i] = f64::max(size[i] * 0.5, 0.04);
            }
            last[i] = if turn < 0.0 {
                0.0
            } else {
                size[i] * g[i].signum()
            };
        }
        expected.push(last.map(|x| -x));
    }
    let rprop = rprop(0.1).min_step_size(0.04).max_step_size(0.15);
    assert_run(&rprop, &expected);
}

/// A decay of 0 at each step up to the offset, so that each gradient is divided by itself.
#[test]
fn the_steps_up_to_the_offset_count_as_the_first() {
    let late = scale_by_factored_rms().step_offset(4).epsilon(0.0);
    assert_run(&chain((mean(), late)), &GRADS.map(|g| g.map(f64::signum)));
}
