//! The noisy mean of clipped examples, against a loop over the examples.

use pergrad_transforms::prelude::*;
use pergrad_transforms::random::normals;
use pergrad_transforms::runner::StepInput;
use pergrad_transforms::spec::{Catalogue, ChainSpec};
use pergrad_transforms::{DifferentiallyPrivateAggregate, Program};

use crate::model::{add_leaf, batch, step, steps, w};
use crate::random::Random;
use crate::tolerance::assert_close;

const EXAMPLES: usize = 5;

fn private(sigma: f64) -> DifferentiallyPrivateAggregate {
    differentially_private_aggregate(1.5, sigma, 4).seed(Seed::from(7))
}

/// Leaves of 4 and of 2 elements; one example is short, and one is zeros.
fn two_leaves() -> StepInput {
    let mut random = Random::new(3);
    let mut input = StepInput::default();
    for (path, size) in [("w", 4), ("x", 2)] {
        let mut grads = random.normals(EXAMPLES * size);
        grads[..size].iter_mut().for_each(|x| *x *= 0.01);
        grads[size..2 * size].fill(0.0);
        add_leaf(&mut input, path, &[size], EXAMPLES, grads);
    }
    input
}

fn row<'a>(input: &'a StepInput, path: &str, b: usize) -> &'a [f64] {
    let size = input.params[path].values.len();
    &input.grads[path].values[b * size..(b + 1) * size]
}

fn length(x: impl IntoIterator<Item = f64>) -> f64 {
    x.into_iter().fold(0.0, f64::hypot)
}

/// The sum over the examples, where `bound_and_norm` says what a leaf of an example is clipped to, plus noise, over 4.
fn by_hand(
    program: &Program,
    sigma: f64,
    path: &str,
    leaf: usize,
    bound_and_norm: impl Fn(&StepInput, usize) -> (f64, f64),
) -> Vec<f64> {
    let input = two_leaves();
    let size = input.params[path].values.len();
    let noise = normals(&program.streams()[0].key, 0, leaf, 0..size);
    let mut sum: Vec<f64> = noise.iter().map(|z| sigma * 1.5 * z).collect();
    for b in 0..EXAMPLES {
        let (bound, norm) = bound_and_norm(&input, b);
        let weight = if norm > bound { bound / norm } else { 1.0 };
        for (sum, g) in sum.iter_mut().zip(row(&input, path, b)) {
            *sum += weight * g;
        }
    }
    sum.iter().map(|sum| sum / 4.0).collect()
}

#[test]
fn the_aggregate_is_the_noisy_sum_of_clipped_examples_over_the_expected_size() {
    for sigma in [0.0, 0.7] {
        let program = program(&private(sigma)).unwrap();
        let output = step::<f64>(&program, &two_leaves());
        for (leaf, path) in ["w", "x"].into_iter().enumerate() {
            let expected = by_hand(&program, sigma, path, leaf, |input, b| {
                let both = [row(input, "w", b), row(input, "x", b)].concat();
                (1.5, length(both))
            });
            assert_close::<f64>(&output.updates[path].values, &expected, path);
        }
    }
}

#[test]
fn bounds_for_each_leaf_share_the_bound_and_leave_the_noise() {
    let sizes = |path: &str| if path == "w" { 4.0_f64 } else { 2.0 };
    type Share = fn(f64) -> f64;
    let links: [(DifferentiallyPrivateAggregate, Share); 2] = [
        (private(0.7).per_leaf(), |_| 0.5),
        (private(0.7).per_leaf_by_size(), |size| size / 6.0),
    ];
    for (link, share) in links {
        let program = program(&link).unwrap();
        let output = step::<f64>(&program, &two_leaves());
        for (leaf, path) in ["w", "x"].into_iter().enumerate() {
            let bound = 1.5 * share(sizes(path)).sqrt();
            let expected = by_hand(&program, 0.7, path, leaf, |input, b| {
                (bound, length(row(input, path, b).iter().copied()))
            });
            assert_close::<f64>(&output.updates[path].values, &expected, path);
        }
    }
}

/// What the accountant rests on. The noise is that of the seed, so it falls out of the difference.
#[test]
fn one_example_more_changes_the_sum_by_the_bound_at_most() {
    let other = [3.0, -1.0, 0.5, 0.1, 0.2, -0.3];
    let one = [1.0, 2.0, -1.0, 0.5, 3.0, 1.0];
    let links = [
        private(0.7),
        private(0.7).per_leaf(),
        private(0.7).per_leaf_by_size(),
    ];
    for link in links {
        let program = program(&link).unwrap();
        for huge in [1e-3, 1.0, 1e6, 1e200, f64::NAN, f64::INFINITY] {
            let input = |examples: &[[f64; 6]]| {
                let mut input = StepInput::default();
                let part = |from: usize, to: usize| {
                    examples.iter().flat_map(move |g| g[from..to].to_vec())
                };
                add_leaf(&mut input, "w", &[4], examples.len(), part(0, 4).collect());
                add_leaf(&mut input, "x", &[2], examples.len(), part(4, 6).collect());
                step::<f64>(&program, &input)
            };
            let (with, without) = (input(&[other, one.map(|x| huge * x)]), input(&[other]));
            let change = ["w", "x"].into_iter().flat_map(|path| {
                let (with, without) = (&with.updates[path].values, &without.updates[path].values);
                with.iter().zip(without).map(|(x, y)| 4.0 * (x - y))
            });
            assert!(length(change) <= 1.5 * (1.0 + 1e-12), "{huge}");
        }
    }
}

#[test]
fn an_empty_batch_gives_noise_only() {
    let program = program(&private(0.7)).unwrap();
    let noise = normals(&program.streams()[0].key, 0, 0, 0..3);
    let output = step::<f64>(&program, &batch::<0, 3>([]));
    let expected: Vec<f64> = noise.iter().map(|z| 0.7 * 1.5 * z / 4.0).collect();
    assert_close::<f64>(w(&output), &expected, "noise");
}

#[test]
fn a_bound_of_zero_gives_zeros() {
    let link = differentially_private_aggregate(0.0, 1.0, 4).seed(Seed::from(7));
    let output = step::<f64>(&program(&link).unwrap(), &batch([[1.0, 2.0], [0.0, 0.0]]));
    assert_eq!(w(&output), [0.0, 0.0]);
}

#[test]
fn an_example_that_is_not_finite_counts_as_zeros_unless_it_is_to_show() {
    let bad = [
        [0.5, 0.0],
        [f64::NAN, 1.0],
        [f64::INFINITY, 1.0],
        [0.0, 0.25],
    ];
    let dropped = step::<f64>(&program(&private(0.0)).unwrap(), &batch(bad));
    assert_eq!(w(&dropped), [0.125, 0.0625]);
    assert_eq!(dropped.metrics["clip_per_example.num_nonfinite"], [2.0]);
    let shown = private(0.0).drop_nonfinite(false);
    let shown = step::<f64>(&program(&shown).unwrap(), &batch(bad));
    assert!(w(&shown).iter().all(|x| x.is_nan()));
}

#[test]
fn the_bound_is_one_hyper_parameter_of_clipping_and_noise() {
    let program = program(&private(0.7)).unwrap();
    let names: Vec<_> = program.hypers().iter().map(|h| h.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "clip_norm",
            "noise_multiplier",
            "differentially_private_aggregate.expected_batch_size"
        ]
    );
}

#[test]
fn the_aggregate_is_a_chain_of_public_links() {
    let read = |text: &str| {
        let spec: ChainSpec = serde_json::from_str(text).unwrap();
        let chain = Catalogue::standard().build(&spec).unwrap();
        steps::<f64>(&chain.optimizer_program().unwrap(), &vec![two_leaves(); 3])
    };
    let short = read(
        r#"[{"link": "differentially_private_aggregate", "clip_norm": 1.5, "noise_multiplier": 0.7,
            "expected_batch_size": 4, "seed": 7}]"#,
    );
    let long = read(
        r#"[{"link": "clip_per_example", "max_norm": 1.5, "drop_nonfinite": true}, "sum",
            {"link": "add_gaussian_noise", "stddev": 0.7, "unit": 1.5, "seed": 7},
            {"link": "scale", "step_size": 0.25}]"#,
    );
    for (short, long) in short.iter().zip(&long) {
        assert_close::<f64>(w(short), w(long), "aggregate");
    }
    assert_ne!(w(&short[0]), w(&short[1]), "other noise at each step");
}

#[test]
fn dpsgd_is_the_aggregate_with_momentum_and_a_learning_rate() {
    let short = dpsgd(0.1, 1.5, 0.7, 4).momentum(0.9).nesterov(true);
    let momentum = trace(0.9).nesterov(true);
    let long = chain((private(0.7), momentum, scale(-0.1)));
    let inputs = vec![two_leaves(); 3];
    let short = steps::<f64>(&program(&short.seed(Seed::from(7))).unwrap(), &inputs);
    let long = steps::<f64>(&program(&long).unwrap(), &inputs);
    for (short, long) in short.iter().zip(&long) {
        assert_close::<f64>(w(short), w(long), "dpsgd");
    }
    let plain = step::<f64>(&program(&dpsgd(0.1, 1.5, 0.0, 4)).unwrap(), &batch([[1.0]]));
    assert_close::<f64>(w(&plain), &[-0.025], "without momentum");
}

#[test]
fn a_batch_in_parts_gets_noise_once() {
    let program = program(&private(0.7)).unwrap();
    let parts = program.parts().unwrap();
    let shows_noise = |program: &Program| {
        let values = program.to_string();
        values
            .lines()
            .any(|line| line.starts_with('%') && line.contains("~add"))
    };
    assert!(!shows_noise(&parts.part) && shows_noise(&parts.rest));
}

#[test]
fn arguments_of_the_aggregate_that_make_no_sense_are_refused() {
    let error = |clip_norm: f64, sigma: f64, expected: f64| {
        let link = differentially_private_aggregate(clip_norm, sigma, expected);
        program(&link).unwrap_err().to_string()
    };
    insta::assert_snapshot!(error(f64::INFINITY, 1.0, 4.0), @"`clip_norm` must be a finite number that is not negative, but it is inf");
    insta::assert_snapshot!(error(-1.0, 1.0, 4.0), @"`clip_norm` must be a finite number that is not negative, but it is -1");
    insta::assert_snapshot!(error(1.0, f64::NAN, 4.0), @"`noise_multiplier` must be a finite number that is not negative, but it is NaN");
    insta::assert_snapshot!(error(1.0, 1.0, 0.0), @"`differentially_private_aggregate.expected_batch_size` must be a finite number above 0, but it is 0");
}
