//! The norm of each example, and outliers.

use pergrad_transforms::prelude::*;

use super::{complaint, dot, metrics, noisy};
use crate::model::{batch, column, step};
use crate::random::Random;
use crate::tolerance::assert_close;

const NORM: &str = "per_example_norms.norm";
const LEAF_NORM: &str = "per_example_norms.leaf_norm";

#[test]
fn the_norms_are_loops_over_the_elements() {
    let mut random = Random::new(121);
    for examples in [0, 1, 2, 3, 8] {
        let (input, rows) = noisy(&mut random, examples, 0.5);
        let all = metrics(&monitor::per_example_norms().leaf_norms(), &input);
        let norms: Vec<f64> = rows.iter().map(|r| dot(r, r).sqrt()).collect();
        assert_close::<f64>(&all[NORM], &norms, "norm");
        let of = |from: usize, to: usize| {
            let parts = rows.iter().map(move |r| &r[from..to]);
            parts.map(|r| dot(r, r).sqrt())
        };
        let leaves: Vec<f64> = of(0, 2).chain(of(2, 5)).collect();
        assert_close::<f64>(&all[LEAF_NORM], &leaves, "leaves outermost");
    }
}

/// Median and number of outliers of a factor.
fn outliers(factor: f64, values: &[f64]) -> (f64, f64) {
    let link = monitor::per_example_norms().outliers_above(factor);
    let all = metrics(&link, &column(values));
    let [median, count] =
        ["median", "outliers"].map(|name| all[&format!("per_example_norms.{name}")][0]);
    (median, count)
}

#[test]
fn outliers_stand_above_a_multiple_of_the_median() {
    let values = [1.0, -2.0, 3.0, -4.0, 25.0];
    assert_eq!(outliers(2.0, &values), (3.0, 1.0));
    assert_eq!(outliers(1.0, &values), (3.0, 2.0));
    assert_eq!(outliers(0.5, &values), (3.0, 4.0));
    assert_eq!(outliers(f64::INFINITY, &values), (3.0, 0.0));
}

#[test]
fn outliers_at_their_edges() {
    assert_eq!(outliers(2.0, &[1.0, 1.0, 2.0]), (1.0, 0.0), "at the bound");
    assert_eq!(outliers(2.0, &[0.0; 3]), (0.0, 0.0), "all zeros");
    assert_eq!(outliers(2.0, &[0.0, 0.0, 1e-9]), (0.0, 1.0), "mostly zeros");
    let (median, count) = outliers(2.0, &[1.0, f64::NAN, 9.0]);
    assert!(median.is_nan() && count == 0.0, "a NaN");
    assert_eq!(outliers(2.0, &[1.0, f64::INFINITY, 1.0]), (1.0, 1.0));
    assert_eq!(
        outliers(2.0, &[1.0, f64::INFINITY, f64::INFINITY]),
        (f64::INFINITY, 0.0)
    );
    let link = monitor::per_example_norms().outliers_above(2.0);
    insta::assert_snapshot!(complaint(&link, &column(&[])).unwrap(), @"`per_example_norms` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
}

#[test]
fn a_nan_or_an_infinity_is_in_the_norm_of_its_example_only() {
    let all = metrics(
        &monitor::per_example_norms(),
        &batch([[3.0, 4.0], [1.0, f64::NAN], [1.0, -f64::INFINITY]]),
    );
    assert_eq!(all[NORM][0], 5.0);
    assert!(all[NORM][1].is_nan());
    assert_eq!(all[NORM][2], f64::INFINITY);
}

#[test]
fn squares_beyond_f32_are_infinite_or_zero() {
    let program = program(&chain((monitor::per_example_norms(), mean()))).unwrap();
    let output = step::<f32>(&program, &column(&[1e20, 1e-30, 2.0]));
    assert_eq!(output.metrics[NORM], [f64::INFINITY, 0.0, 2.0]);
}
