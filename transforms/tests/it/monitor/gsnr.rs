//! Ratios of signal to noise of each element: GSNR and the criterion of early stopping.

use pergrad_transforms::prelude::*;

use super::{complaint, mean_row, metrics, noisy, number, two_leaves, variances};
use crate::model::{batch, column};
use crate::random::Random;
use crate::tolerance::assert_close;

const INF: f64 = f64::INFINITY;

#[test]
fn case_09_gsnr_biased_and_unbiased() {
    let y = column(&[0.0, 2.0, 4.0, 6.0]);
    let biased = number(&monitor::gsnr(), "gsnr.mean", &y);
    let unbiased = number(&monitor::gsnr().unbiased(), "gsnr.mean", &y);
    assert_close::<f64>(&[biased], &[1.8], "biased");
    assert_close::<f64>(&[unbiased], &[1.35], "unbiased");
}

#[test]
fn gsnr_is_a_loop_over_the_elements() {
    let (input, rows) = noisy(&mut Random::new(91), 5, 0.5);
    for (link, ddof) in [(monitor::gsnr(), 0), (monitor::gsnr().unbiased(), 1)] {
        let all = metrics(&link.elements(), &input);
        let elements = mean_row(&rows).into_iter().zip(variances(&rows, ddof));
        let elements: Vec<f64> = elements.map(|(m, v)| m * m / v).collect();
        assert_close::<f64>(&all["gsnr.elements"], &elements, "elements");
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        assert_close::<f64>(&all["gsnr.mean"], &[mean(&elements)], "mean");
        let leaves = [mean(&elements[..2]), mean(&elements[2..])];
        assert_close::<f64>(&all["gsnr.leaf_mean"], &leaves, "leaves");
    }
}

#[test]
fn gsnr_gives_out_the_elements_only_if_asked() {
    let names: Vec<String> = metrics(&monitor::gsnr(), &column(&[1.0, 2.0]))
        .into_keys()
        .collect();
    assert_eq!(names, ["gsnr.leaf_mean", "gsnr.mean"]);
}

#[test]
fn gsnr_of_elements_without_noise_is_zero_or_infinite() {
    let of = |rows: [[f64; 2]; 2]| {
        metrics(&monitor::gsnr().elements(), &batch(rows)).remove("gsnr.elements")
    };
    assert_eq!(of([[0.0, 3.0], [0.0, 3.0]]).unwrap(), [0.0, INF]);
    let alike = batch([[0.0, 3.0], [0.0, 3.0]]);
    assert_eq!(number(&monitor::gsnr(), "gsnr.mean", &alike), INF);
    let one = batch([[0.0, 3.0]]);
    let one = metrics(&monitor::gsnr().elements(), &one);
    assert_eq!(one["gsnr.elements"], [0.0, INF]);
}

#[test]
fn gsnr_of_no_elements_is_zero() {
    let empty = batch::<3, 0>([[], [], []]);
    let all = metrics(&monitor::gsnr(), &empty);
    assert_eq!(all["gsnr.mean"], [0.0]);
    assert_eq!(all["gsnr.leaf_mean"], [0.0]);
}

#[test]
fn gsnr_shows_a_nan_in_its_element_and_the_means() {
    let all = metrics(
        &monitor::gsnr().elements(),
        &batch([[1.0, f64::NAN], [3.0, 1.0]]),
    );
    assert_eq!(all["gsnr.elements"][0], 4.0);
    assert!(all["gsnr.elements"][1].is_nan() && all["gsnr.mean"][0].is_nan());
}

#[test]
fn gsnr_of_too_few_examples_is_refused_by_name() {
    let refused = |link: monitor::Gsnr, rows: &[f64]| complaint(&link, &column(rows));
    insta::assert_snapshot!(refused(monitor::gsnr(), &[]).unwrap(), @"`gsnr` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
    insta::assert_snapshot!(refused(monitor::gsnr().unbiased(), &[1.0]).unwrap(), @"`gsnr` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
}

const CRITERION: &str = "early_stopping.criterion";

#[test]
fn the_criterion_of_early_stopping_is_a_loop_over_the_elements() {
    let (input, rows) = noisy(&mut Random::new(92), 6, 0.1);
    for (link, eps) in [
        (monitor::early_stopping(), 1e-5),
        (monitor::early_stopping().eps(0.5), 0.5),
    ] {
        let mut evidence = 0.0;
        for (m, v) in mean_row(&rows).iter().zip(variances(&rows, 1)) {
            evidence += 6.0 * m * m / (v + eps) / 5.0;
        }
        let got = number(&link, CRITERION, &input);
        assert_close::<f64>(&[got], &[1.0 - evidence], "criterion");
    }
}

/// The square of Student's t with B - 1 degrees of freedom has the mean (B - 1) / (B - 3).
#[test]
fn the_criterion_is_about_zero_without_a_signal_and_below_it_with_one() {
    let (examples, elements) = (32, 2000);
    let mut random = Random::new(93);
    let mut rows = |mean: f64| -> Vec<Vec<f64>> {
        let row = |_| {
            let normals = random.normals(elements);
            normals.iter().map(|x| x + mean).collect()
        };
        (0..examples).map(row).collect()
    };
    let noise = number(
        &monitor::early_stopping().eps(0.0),
        CRITERION,
        &two_leaves(&rows(0.0)),
    );
    let expected = 1.0 - 31.0 / 29.0;
    // Each square has a standard deviation of about 1.6.
    let error = 1.6 / (elements as f64).sqrt();
    assert!((noise - expected).abs() < 4.0 * error, "{noise}");
    let signal = number(
        &monitor::early_stopping(),
        CRITERION,
        &two_leaves(&rows(0.5)),
    );
    assert!(signal < -5.0, "{signal}");
}

#[test]
fn the_criterion_at_its_edges() {
    let of = |eps: f64, rows: [[f64; 2]; 2]| {
        number(&monitor::early_stopping().eps(eps), CRITERION, &batch(rows))
    };
    assert_eq!(of(1e-5, [[0.0; 2]; 2]), 1.0, "all zeros");
    assert_eq!(of(0.0, [[3.0, 1.0], [3.0, 1.0]]), -INF, "all alike");
    // Of the other element: mean 2, variance 2, so 2 * 4 / 2, over two elements.
    assert_close::<f64>(
        &[of(0.0, [[0.0, 1.0], [0.0, 3.0]])],
        &[-1.0],
        "an element of zeros",
    );
    assert!(of(1e-5, [[f64::NAN, 1.0], [3.0, 1.0]]).is_nan());
    assert!(of(1e-5, [[INF, 1.0], [3.0, 1.0]]).is_nan());
    let empty = batch::<3, 0>([[], [], []]);
    assert_eq!(number(&monitor::early_stopping(), CRITERION, &empty), 1.0);
    insta::assert_snapshot!(complaint(&monitor::early_stopping(), &column(&[1.0])).unwrap(), @"`early_stopping` needs at least 2 examples, but the batch has 1: skip this batch, or make it larger");
}
