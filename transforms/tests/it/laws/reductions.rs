//! Reductions over examples against plain loops, over shapes and with NaN.

use pergrad_transforms::prelude::*;
use pergrad_transforms::program::Op;
use pergrad_transforms::runner::{Runner, StepInput};
use pergrad_transforms::spec::{ChainSpec, LinkSpec};
use pergrad_transforms::{Error, Program};

use super::samples::{SAMPLES, Stands, build, link};
use crate::model::{add_leaf, reference, step, w};
use crate::random::Random;
use crate::tolerance::{Tolerated, assert_close};

/// A reduction with its least number of examples and the same by a plain loop over the values of one parameter.
type Row = (&'static str, Program, usize, fn(&[f64]) -> f64);

fn rows() -> Vec<Row> {
    vec![
        ("sum", program(&sum()).unwrap(), 0, |x| x.iter().sum()),
        ("mean", program(&mean()).unwrap(), 1, running_mean),
        (
            "batch_mean",
            program(&batch_mean()).unwrap(),
            1,
            running_mean,
        ),
        ("variance(0)", program(&variance(0)).unwrap(), 1, |x| {
            pairwise_variance(x) * (x.len() as f64 - 1.0) / x.len() as f64
        }),
        (
            "variance(1)",
            program(&variance(1)).unwrap(),
            2,
            pairwise_variance,
        ),
        (
            "unbiased_square_of_mean",
            program(&unbiased_square_of_mean()).unwrap(),
            2,
            mean_product,
        ),
        ("max", program(&max()).unwrap(), 1, |x| rank(x, x.len() - 1)),
        ("min", program(&min()).unwrap(), 1, |x| rank(x, 0)),
        ("median", program(&median()).unwrap(), 1, |x| {
            f64::midpoint(rank(x, (x.len() - 1) / 2), rank(x, x.len() / 2))
        }),
        (
            "trimmed_mean(1)",
            program(&trimmed_mean(1)).unwrap(),
            3,
            |x| {
                let extremes = rank(x, 0) + rank(x, x.len() - 1);
                (x.iter().sum::<f64>() - extremes) / (x.len() as f64 - 2.0)
            },
        ),
        ("majority", program(&majority()).unwrap(), 0, |x| {
            let votes = |f: fn(&&f64) -> bool| x.iter().filter(f).count();
            let (up, down) = (votes(|x| **x > 0.0), votes(|x| **x < 0.0));
            f64::from(i8::from(up > down) - i8::from(up < down))
        }),
    ]
}

fn running_mean(x: &[f64]) -> f64 {
    let counted = x.iter().zip(1_u32..);
    counted.fold(0.0, |mean, (x, n)| mean + (x - mean) / f64::from(n))
}

/// Half the mean squared difference of two different examples is the unbiased variance.
fn pairwise_variance(x: &[f64]) -> f64 {
    over_pairs(x, |a, b| (a - b) * (a - b) / 2.0)
}

/// The mean product of two different examples is the unbiased square of the mean.
fn mean_product(x: &[f64]) -> f64 {
    over_pairs(x, |a, b| a * b)
}

fn over_pairs(x: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (i, a) in x.iter().enumerate() {
        for (j, b) in x.iter().enumerate() {
            sum += if i == j { 0.0 } else { f(*a, *b) };
        }
    }
    if x.len() < 2 {
        0.0
    } else {
        sum / (x.len() * (x.len() - 1)) as f64
    }
}

/// The value that `k` others stand before.
fn rank(x: &[f64], k: usize) -> f64 {
    let before = |at: usize| {
        let earlier = |(i, y): (usize, &f64)| *y < x[at] || (*y == x[at] && i < at);
        x.iter()
            .enumerate()
            .filter(|&(i, y)| earlier((i, y)))
            .count()
    };
    x[(0..x.len()).find(|&at| before(at) == k).unwrap()]
}

#[test]
fn every_reduction_agrees_with_a_plain_loop_over_the_examples() {
    fn check<T: Tolerated>() {
        let mut random = Random::new(25);
        for (examples, size) in [0, 1, 2, 3, 8]
            .iter()
            .flat_map(|&b| [0, 1, 5, 33].map(|p| (b, p)))
        {
            // Halves: exact in f32, and with ties and zeros among them.
            let grads: Vec<f64> = random
                .normals(examples * size)
                .iter()
                .map(|x| (4.0 * x).round() / 2.0)
                .collect();
            let mut input = StepInput::default();
            add_leaf(&mut input, "w", &[size], examples, grads.clone());
            for (name, program, least, loops) in rows() {
                let result = reference::<T>(&program, &input).step(&input);
                if examples < least {
                    let is_small = matches!(result, Err(Error::TooFewExamples { needs, got, .. })
                        if needs == least && got == examples);
                    assert!(is_small, "{name} of {examples}");
                    continue;
                }
                let columns = (0..size).map(|p| {
                    let column: Vec<f64> = (0..examples).map(|b| grads[b * size + p]).collect();
                    loops(&column)
                });
                let expected: Vec<f64> = columns.collect();
                let what = format!("{name} of [{examples}, {size}]");
                assert_close::<T>(w(&result.unwrap()), &expected, &what);
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn a_nan_in_one_example_makes_every_reduction_nan_at_that_element_only() {
    let reductions = SAMPLES
        .iter()
        .filter(|(stands, _)| matches!(stands, Stands::Reduces | Stands::ReducesOrAfter));
    // Those that are private drop such an example, unless they are told not to.
    let drops = |json: &str| {
        let private = json.contains("differentially_private") || json.contains("dpsgd");
        private && !json.contains(r#""drop_nonfinite": false"#)
    };
    for (_, json) in reductions.filter(|(_, json)| !drops(json)) {
        let program = build(&ChainSpec {
            links: vec![link(json)],
        });
        // A norm takes the NaN to every element that it weighs.
        let folds = |op: &Op| matches!(op, Op::OverElements(..) | Op::AlongAxes(..));
        let has_norms = program.nodes().iter().any(|node| folds(&node.op));
        for bad in 0..4 {
            let mut grads = Random::new(6).normals(4 * 2);
            grads[2 * bad] = f64::NAN;
            let mut input = StepInput::default();
            add_leaf(&mut input, "w", &[2], 4, grads);
            for extra in program.extras() {
                input.extras.insert(extra.name.clone(), vec![1.0]);
            }
            let output = step::<f64>(&program, &input);
            assert!(
                w(&output)[0].is_nan(),
                "{json}: the NaN of example {bad} is hidden"
            );
            let weighs_examples = [
                "geometric_median",
                "least_harm",
                "project_conflicts",
                "upgrad",
            ];
            let spreads = !w(&output)[1].is_finite();
            if weighs_examples.iter().any(|name| json.contains(name)) {
                assert!(spreads, "{json}: the example has a weight of its own");
            } else {
                assert!(has_norms || !spreads, "{json}: the NaN spreads");
            }
        }
    }
}

#[test]
fn zero_nans_saves_the_other_examples() {
    let spec = ChainSpec::from_iter(["zero_nans", "sum"].map(LinkSpec::new));
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[1], 3, vec![1.0, f64::NAN, 2.0]);
    assert_eq!(w(&step::<f64>(&build(&spec), &input)), [3.0]);
}

#[test]
fn infinities_show_in_a_mean_and_not_in_a_median() {
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[1], 3, vec![1.0, f64::INFINITY, 2.0]);
    let of = |name: &str| {
        w(&step::<f64>(
            &build(&[LinkSpec::new(name)].into_iter().collect()),
            &input,
        ))[0]
    };
    assert_eq!(
        [of("mean"), of("max"), of("median"), of("min")],
        [f64::INFINITY, f64::INFINITY, 2.0, 1.0]
    );
    assert!(of("variance").is_nan());
}
