//! Examples of norms far above the others.

use pergrad_transforms::outliers::{MAD_OF_NORMAL, Outlier, outliers};

use crate::random::Random;

const INF: f64 = f64::INFINITY;

fn indices(found: &[Outlier]) -> Vec<usize> {
    found.iter().map(|outlier| outlier.index).collect()
}

/// Median 3, deviations 2, 1, 0, 1, 97 of median 1.
#[test]
fn the_ratio_is_in_median_deviations() {
    let found = outliers(&[1.0, 100.0, 3.0, 2.0, 4.0], 3.5);
    let ratio = 97.0 / MAD_OF_NORMAL;
    assert_eq!(
        found,
        [Outlier {
            index: 1,
            norm: 100.0,
            ratio
        }]
    );
}

#[test]
fn the_largest_is_the_first() {
    let found = outliers(&[1.0, 30.0, 1.1, 0.9, 50.0, 1.0, 1.2, 0.8], 3.5);
    assert_eq!(indices(&found), [4, 1]);
}

#[test]
fn many_large_norms_do_not_hide_each_other() {
    let mut norms = vec![1.0, 1.1, 0.9, 1.05, 0.95, 1.02];
    norms.extend([1000.0; 5]);
    assert_eq!(outliers(&norms, 3.5).len(), 5);
}

#[test]
fn small_norms_are_no_outliers() {
    assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.2, 0.0], 3.5), []);
}

/// Of normal norms, 0.135 % are more than three standard deviations above the mean.
#[test]
fn of_normal_norms_as_many_are_found_as_standard_deviations_say() {
    let mut random = Random::new(3);
    let norms: Vec<f64> = (0..40_000).map(|_| 10.0 + random.normal()).collect();
    let found = outliers(&norms, 3.0);
    let expected = 0.001_35_f64 * 40_000.0;
    let away = (f64::from(u32::try_from(found.len()).unwrap()) - expected) / expected.sqrt();
    assert!(away.abs() < 4.0, "{} found", found.len());
}

#[test]
fn no_norms_have_no_outlier() {
    assert_eq!(outliers(&[], 3.5), []);
    assert_eq!(outliers(&[2.0], 3.5), []);
}

#[test]
fn above_equal_norms_every_other_is_an_outlier() {
    let found = outliers(&[2.0, 2.0, 3.0, 2.0, 4.0, 1.0, 2.0], 3.5);
    assert_eq!(indices(&found), [4, 2]);
    assert!(found.iter().all(|outlier| outlier.ratio == INF));
    assert_eq!(outliers(&[0.0; 4], 3.5), []);
}

#[test]
fn norms_that_are_not_finite_are_outliers() {
    let found = outliers(&[1.0, INF, 2.0, f64::NAN, 1.5, 90.0], 3.5);
    assert_eq!(indices(&found), [3, 1, 5]);
    assert_eq!([found[0].ratio, found[1].ratio], [INF; 2]);
    assert!(found[2].ratio.is_finite(), "the median is of the others");
}

#[test]
fn small_norms_are_no_outliers_of_a_negative_k_either() {
    let norms = [1.0, 2.0, 3.0, 4.0, 5.0];
    for k in [-1.0, -INF, f64::NAN, 0.0] {
        assert_eq!(indices(&outliers(&norms, k)), [4, 3], "{k}");
        assert_eq!(outliers(&[2.0; 3], k), [], "{k}");
    }
    assert_eq!(outliers(&[1.0, 1.0, 9.0, INF], INF), []);
}
