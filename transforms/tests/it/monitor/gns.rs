//! The gradient noise scale; what the papers say of it is in [`papers`](crate::papers).

use pergrad_transforms::Program;
use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;

use super::{complaint, dot, mean_row, metrics, noisy, number, two_leaves, variances};
use crate::model::{batch, column, step, steps};
use crate::random::Random;
use crate::tolerance::{Tolerated, assert_close};

fn of(link: monitor::Gns) -> Program {
    program(&chain((link, mean()))).unwrap()
}

/// `[G^2, S]` of rows, from the variance of each element.
fn estimates(rows: &[Vec<f64>]) -> [f64; 2] {
    let (mean, s) = (mean_row(rows), variances(rows, 1).iter().sum::<f64>());
    [dot(&mean, &mean) - s / rows.len() as f64, s]
}

#[test]
fn by_norms_and_by_variance_agree() {
    let mut random = Random::new(81);
    for examples in [2, 3, 8] {
        let (input, rows) = noisy(&mut random, examples, 1.0);
        let [g2, s] = estimates(&rows);
        for link in [monitor::gns().by_norms(), monitor::gns().by_variance()] {
            let metrics = metrics(&link.decay(0.5), &input);
            assert_close::<f64>(&metrics["gns.g2"], &[g2], "G^2");
            assert_close::<f64>(&metrics["gns.s"], &[s], "S");
            let scale = s / f64::max(g2, 0.0);
            assert_close::<f64>(&metrics["gns.scale"], &[scale], "scale");
        }
    }
}

#[test]
fn each_leaf_has_a_scale_of_its_own() {
    let (input, rows) = noisy(&mut Random::new(82), 6, 2.0);
    let parts = [0..2, 2..5].map(|columns| {
        let part: Vec<Vec<f64>> = rows.iter().map(|r| r[columns.clone()].to_vec()).collect();
        estimates(&part)
    });
    for link in [monitor::gns(), monitor::gns().by_variance()] {
        let metrics = metrics(&link.per_leaf(), &input);
        assert_close::<f64>(&metrics["gns.g2"], &parts.map(|[g2, _]| g2), "G^2");
        assert_close::<f64>(&metrics["gns.s"], &parts.map(|[_, s]| s), "S");
        let scales = parts.map(|[g2, s]| s / g2);
        assert_close::<f64>(&metrics["gns.scale"], &scales, "scale");
    }
}

#[test]
fn selected_leaves_are_a_smaller_model() {
    let (input, _) = noisy(&mut Random::new(83), 6, 2.0);
    let mut small = input.clone();
    small.grads.remove("a");
    small.params.remove("a");
    let only_w = || Leaves::matching("w");
    let expected = metrics(&monitor::gns(), &small);
    assert_eq!(metrics(&monitor::gns().leaves(only_w()), &input), expected);
    let masked = masked(monitor::gns(), only_w());
    assert_eq!(metrics(&masked, &input), expected);

    let per_leaf = metrics(&monitor::gns().leaves(only_w()).per_leaf(), &input);
    for (name, values) in per_leaf {
        assert_eq!(values[0], 0.0, "{name} of a leaf that is not selected");
        assert_close::<f64>(&values[1..], &expected[&name], &name);
    }
}

#[test]
fn flattened_leaves_are_one() {
    let (input, _) = noisy(&mut Random::new(88), 6, 2.0);
    for link in [monitor::gns(), monitor::gns().by_variance()] {
        let expected = metrics(&link.clone(), &input);
        assert_eq!(metrics(&flatten(link.per_leaf()), &input), expected);
    }
}

#[test]
fn a_selection_by_rank_leaves_out_the_vectors() {
    let mut input = batch([[1.0, 5.0], [2.0, -3.0]]);
    let vectors_only = metrics(&monitor::gns(), &input);
    crate::model::add_leaf(&mut input, "matrix", &[1, 1], 2, vec![3.0, 9.0]);
    let vectors = monitor::gns().leaves(Leaves::RankAtLeast(2).negate());
    assert_eq!(metrics(&vectors, &input), vectors_only);
    assert_ne!(metrics(&monitor::gns(), &input), vectors_only);
}

#[test]
fn one_example_is_refused_by_name() {
    let refused = |link: monitor::Gns| complaint(&link, &column(&[3.0])).unwrap();
    insta::assert_snapshot!(refused(monitor::gns()), @"`gns` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
    insta::assert_snapshot!(refused(monitor::gns().by_variance()), @"`gns` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
    insta::assert_snapshot!(complaint(&monitor::gns().named("noise"), &batch::<0, 2>([])).unwrap(), @"`noise` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
}

#[test]
fn noise_without_a_signal_is_infinite_and_nothing_at_all_is_zero() {
    let scale = |values: &[f64]| number(&monitor::gns(), "gns.scale", &column(values));
    assert_eq!(scale(&[-1.0, 1.0]), f64::INFINITY);
    assert_eq!(
        number(&monitor::gns(), "gns.g2", &column(&[-1.0, 1.0])),
        -1.0
    );
    assert_eq!(scale(&[0.0, 0.0, 0.0]), 0.0);
}

#[test]
fn examples_that_are_alike_have_no_noise() {
    let alike = two_leaves(&vec![vec![0.1, -0.7, 3.3, 0.0, 1e-3]; 7]);
    let by_variance = number(&monitor::gns().by_variance(), "gns.scale", &alike);
    assert!(by_variance.abs() < 1e-30, "{by_variance:e}");
    let by_norms = number(&monitor::gns(), "gns.scale", &alike);
    assert!((0.0..1e-14).contains(&by_norms), "{by_norms:e}");
}

/// In f32, where the examples agree to four digits: the scale is 1e-8, and its error far below 1. `S` alone is lost by norms, and
/// kept by variance.
#[test]
fn by_norms_the_scale_is_right_relative_to_one_example() {
    let mut random = Random::new(84);
    let rows: Vec<Vec<f64>> = (0..8)
        .map(|_| random.normals(5).iter().map(|x| 1.0 + 1e-4 * x).collect())
        .map(|row: Vec<f64>| row.iter().map(|&x| f64::from(x as f32)).collect())
        .collect();
    let [g2, s] = estimates(&rows);
    let of = |link| step::<f32>(&of(link), &two_leaves(&rows)).metrics;
    let (norms, variance) = (of(monitor::gns()), of(monitor::gns().by_variance()));
    let error = (norms["gns.scale"][0] - s / g2).abs();
    assert!(error < 4.0 * f64::from(f32::EPSILON), "{error:e}");
    let lost = (norms["gns.s"][0] - s).abs() / s;
    let kept = (variance["gns.s"][0] - s).abs() / s;
    assert!(lost > 0.1, "this is a hard one: {lost}");
    assert!(kept < 1e-5, "{kept:e}");
}

#[test]
fn a_batch_with_a_nan_is_left_out_of_the_averages() {
    let mut random = Random::new(85);
    let mut batches = || noisy(&mut random, 4, 1.0).0;
    let (first, second) = (batches(), batches());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut wrong = first.clone();
        wrong.grads.get_mut("w").unwrap().values[2] = bad;
        for link in [monitor::gns(), monitor::gns().by_variance().per_leaf()] {
            let program = of(link);
            let inputs = [first.clone(), wrong.clone(), second.clone()];
            let got = steps::<f64>(&program, &inputs);
            let expected = steps::<f64>(&program, &[first.clone(), second.clone()]);
            if program.slots()[0].extent == pergrad_transforms::ExtentKind::Global {
                assert_eq!(got[1].metrics, got[0].metrics);
                assert_eq!(got[2].metrics, expected[1].metrics);
            } else {
                // The leaf without it takes part in the step.
                for (name, metric) in &got[1].metrics {
                    assert_eq!(metric[1], got[0].metrics[name][1], "{name}");
                    assert_ne!(metric[0], got[2].metrics[name][0], "{name}");
                }
            }
            assert!(!got[1].updates["w"].values[2].is_finite(), "it shows");
        }
    }
}

#[test]
fn before_the_first_sound_batch_there_is_no_number() {
    let metrics = metrics(&monitor::gns(), &column(&[1.0, f64::NAN]));
    for (name, values) in metrics {
        assert!(values[0].is_nan(), "{name}: {values:?}");
    }
}

#[test]
fn squares_that_overflow_count_as_infinities() {
    let program = of(monitor::gns());
    let sound: StepInput = column(&[1.0, 3.0]);
    let outputs = steps::<f32>(&program, &[sound, column(&[1e20, 1.0])]);
    assert_eq!(outputs[1].metrics, outputs[0].metrics);
}

/// `decay^t` would be wrong for a decay that changes.
#[test]
fn the_debiasing_is_exact_for_a_schedule() {
    fn check<T: Tolerated>() {
        let mut random = Random::new(86);
        let batches: Vec<_> = (0..5).map(|_| noisy(&mut random, 4, 1.0)).collect();
        let decay = linear_schedule(0.0, 0.8, 4);
        let inputs: Vec<_> = batches.iter().map(|(input, _)| input.clone()).collect();
        let outputs = steps::<T>(&of(monitor::gns().decay(decay)), &inputs);
        let mut weights: Vec<f64> = Vec::new();
        for (t, output) in outputs.iter().enumerate() {
            let today = 0.2 * t as f64;
            weights.iter_mut().for_each(|w| *w *= today);
            weights.push(1.0 - today);
            let total: f64 = weights.iter().sum();
            let [g2, s] = [0, 1].map(|which| {
                let parts = weights.iter().zip(&batches);
                let parts = parts.map(|(w, (_, rows))| w * estimates(rows)[which]);
                parts.sum::<f64>() / total
            });
            assert_close::<T>(&output.metrics["gns.g2"], &[g2], "G^2");
            assert_close::<T>(&output.metrics["gns.s"], &[s], "S");
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn several_under_names_of_their_own_stand_in_one_chain() {
    let (input, _) = noisy(&mut Random::new(87), 4, 1.0);
    let both = chain((
        monitor::gns().leaves(Leaves::matching("a")).named("gns_a"),
        monitor::gns().leaves(Leaves::matching("w")).named("gns_w"),
        monitor::gns(),
    ));
    let all = metrics(&both, &input);
    let sum = all["gns_a.s"][0] + all["gns_w.s"][0];
    assert_close::<f64>(&all["gns.s"], &[sum], "traces add");
    assert_eq!(all.len(), 9);
}
