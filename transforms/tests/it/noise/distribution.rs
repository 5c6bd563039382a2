//! The numbers are standard normal, and independent of each other.

use pergrad_transforms::random::{Key, fill_normals, normals};

const DRAWS: usize = 100_000;

fn key(byte: u8) -> Key {
    Key::new([byte; 32])
}

#[allow(clippy::cast_precision_loss)]
fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = (values.into_iter()).fold((0.0, 0_u32), |(s, n), x| (s + x, n + 1));
    sum / f64::from(count)
}

/// The distribution function of the standard normal, by a Taylor series around 0: its terms are all of one sign for `x > 0`
/// (Marsaglia, 2004).
fn cdf(x: f64) -> f64 {
    let x = x.clamp(-8.0, 8.0);
    let (mut sum, mut term, mut odd) = (x, x, 1.0);
    while sum + term != sum {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x - 0.918_938_533_204_672_7).exp()
}

/// Five standard deviations of each estimate: 1/sqrt(n), sqrt(2/n), sqrt(6/n), sqrt(24/n).
#[test]
fn the_first_four_moments_are_those_of_a_standard_normal() {
    for seed in [1, 2, 3] {
        let z = normals(&key(seed), 0, 0, 0..DRAWS);
        let moment = |k: i32| mean(z.iter().map(|x| x.powi(k)));
        assert!(moment(1).abs() < 5.0 * 3.2e-3, "mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 5.0 * 4.5e-3, "variance");
        assert!(moment(3).abs() < 5.0 * 1.25e-2, "skewness"); // of x^3: sqrt(15/n)
        assert!((moment(4) - 3.0).abs() < 5.0 * 3.1e-2, "kurtosis"); // of x^4: sqrt(96/n)
    }
}

/// The distance exceeds 1.95 / sqrt(n) once in a thousand.
#[test]
#[allow(clippy::cast_precision_loss)]
fn the_distance_of_kolmogorov_and_smirnov_to_the_normal_is_small() {
    for (count, leaf) in [(0, 0), (1, 0), (u64::MAX, 5)] {
        let mut z = normals(&key(4), count, leaf, 0..DRAWS);
        z.sort_by(f64::total_cmp);
        let n = DRAWS as f64;
        let distance = z.iter().enumerate().fold(0.0_f64, |d, (at, x)| {
            let (below, above) = (at as f64 / n, (at + 1) as f64 / n);
            d.max(cdf(*x) - below).max(above - cdf(*x))
        });
        assert!(distance < 1.95 / n.sqrt(), "{distance}");
    }
}

/// The correlation of n independent pairs has the standard deviation 1/sqrt(n).
#[test]
fn steps_leaves_keys_and_neighbours_are_not_correlated() {
    let of = |byte, count, leaf| normals(&key(byte), count, leaf, 0..DRAWS);
    let z = of(5, 0, 0);
    let others = [
        ("the next step", of(5, 1, 0)),
        ("a step far away", of(5, 1 << 63, 0)),
        ("the next leaf", of(5, 0, 1)),
        ("the leaf with the number of the step", of(5, 1, 1)),
        ("another key", of(6, 0, 0)),
        ("the next element", normals(&key(5), 0, 0, 1..DRAWS + 1)),
        ("the next pair", normals(&key(5), 0, 0, 2..DRAWS + 2)),
        ("the next block", normals(&key(5), 0, 0, 8..DRAWS + 8)),
    ];
    for (what, other) in others {
        let correlation = mean(z.iter().zip(&other).map(|(x, y)| x * y));
        assert!(correlation.abs() < 5.0 * 3.2e-3, "{what}: {correlation}");
        // Independent, and not only without correlation: squares too.
        let squares = mean(
            z.iter()
                .zip(&other)
                .map(|(x, y)| (x * x - 1.0) * (y * y - 1.0)),
        );
        assert!(squares.abs() < 5.0 * 6.4e-3, "{what}: {squares}");
    }
}

#[test]
fn a_range_of_elements_has_the_numbers_of_the_whole() {
    let whole = normals(&key(7), 3, 2, 0..100);
    for first in [0, 1, 2, 7, 8, 33, 99, 100] {
        for last in [first, first + 1, 100] {
            if last <= 100 {
                let part = normals(&key(7), 3, 2, first..last.max(first));
                assert_eq!(part, whole[first..last], "{first}..{last}");
            }
        }
    }
    let mut out = [0.0; 5];
    fill_normals(&key(7), 3, 2, 31, &mut out);
    assert_eq!(out, whole[31..36]);
}

#[test]
fn elements_far_away_have_numbers_of_their_own() {
    let far = 1_usize << 40;
    let z = normals(&key(8), 0, 0, far..far + 4);
    assert!(z.iter().all(|x| x.is_finite()));
    assert_ne!(z, normals(&key(8), 0, 0, 0..4));
}

#[test]
fn every_number_is_finite_and_none_comes_twice() {
    let mut z = normals(&key(9), 0, 0, 0..DRAWS);
    z.extend(normals(&key(9), 1, 0, 0..DRAWS));
    assert!(z.iter().all(|x| x.abs() < 8.6));
    z.sort_by(f64::total_cmp);
    assert!(z.windows(2).all(|pair| pair[0] < pair[1]));
}
