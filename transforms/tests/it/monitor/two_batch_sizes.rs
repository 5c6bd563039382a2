//! The noise scale from gradients of two batch sizes.

use pergrad_transforms::monitor::{NoiseScale, noise_scale_from_norms};
use pergrad_transforms::prelude::*;

use super::{dot, mean_row, metrics, noisy};
use crate::random::Random;
use crate::tolerance::assert_close;

/// The mean over all micro-batches of a size that can be drawn from a batch has no chance left in it: then the estimators are those
/// of the examples themselves, whatever the size.
#[test]
fn every_size_of_micro_batch_gives_the_estimates_of_the_examples() {
    let (input, rows) = noisy(&mut Random::new(131), 6, 1.0);
    let expected = metrics(&monitor::gns(), &input);
    let sq_norm = |rows: &[Vec<f64>]| {
        let mean = mean_row(rows);
        dot(&mean, &mean)
    };
    for size in 1..6 {
        let subsets = (0_u32..1 << 6).filter(|bits| bits.count_ones() as usize == size);
        let norms = subsets.map(|bits| {
            let drawn = (0..6).filter(|b| bits >> b & 1 == 1);
            sq_norm(&drawn.map(|b| rows[b].clone()).collect::<Vec<_>>())
        });
        let norms: Vec<f64> = norms.collect();
        let small = norms.iter().sum::<f64>() / norms.len() as f64;
        let got = noise_scale_from_norms(size, small, 6, sq_norm(&rows)).unwrap();
        assert_close::<f64>(&[got.g2], &expected["gns.g2"], "G^2");
        // Near the whole batch the divisor is small.
        let s = expected["gns.s"][0];
        assert!(
            (got.s - s).abs() < 1e-11 * s,
            "{size}: {} is not {s}",
            got.s
        );
    }
}

#[test]
fn the_scale_at_its_edges() {
    let of = |small, big| noise_scale_from_norms(2, small, 8, big).unwrap();
    assert_eq!(of(5.0, 5.0), NoiseScale { g2: 5.0, s: 0.0 });
    assert_eq!(of(5.0, 5.0).scale(), 0.0);
    assert_eq!(of(8.0, 1.0).scale(), f64::INFINITY, "less than no signal");
    assert_eq!(of(8.0, 2.0).scale(), f64::INFINITY, "no signal");
    assert_eq!(of(0.0, 0.0).scale(), 0.0, "nothing");
    assert_eq!(of(1.0, 2.0).scale(), 0.0, "less than no noise");
    assert!(of(f64::NAN, 1.0).scale().is_nan());
    assert!(of(1.0, f64::NAN).scale().is_nan());
}

#[test]
fn batch_sizes_that_are_none_are_refused() {
    let refused = |small, big| noise_scale_from_norms(small, 1.0, big, 1.0).unwrap_err();
    insta::assert_snapshot!(refused(0, 4), @"`noise_scale_from_norms.b_small` must be at least 1, but it is 0");
    insta::assert_snapshot!(refused(4, 4), @"`noise_scale_from_norms.b_big` must be greater than `b_small`, 4, but it is 4");
    insta::assert_snapshot!(refused(4, 0), @"`noise_scale_from_norms.b_big` must be greater than `b_small`, 4, but it is 0");
}
