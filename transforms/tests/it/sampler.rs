//! Sampling by gradient norms: right on average whatever the estimates are, and of no more variance than drawing all alike.

use pergrad_transforms::prelude::*;
use pergrad_transforms::sampler::{Draw, NormSampler};
use proptest::prelude::*;

use crate::model::{batch, step, w};
use crate::random::Random;

fn sampler(norms: &[f64], mix: f64) -> NormSampler {
    let mut sampler = NormSampler::new(norms.len()).unwrap().mix(mix).unwrap();
    let all: Vec<usize> = (0..norms.len()).collect();
    sampler.update(&all, norms).unwrap();
    sampler
}

/// Mean and variance of `weight * g` over the example that is drawn, by going through all of them.
#[allow(clippy::cast_precision_loss)]
fn moments(probabilities: &[f64], grads: &[f64]) -> (f64, f64) {
    let count = grads.len() as f64;
    let (mut mean, mut square) = (0.0, 0.0);
    for (p, g) in probabilities.iter().zip(grads) {
        let weighted = g / (count * p);
        mean += p * weighted;
        square += p * weighted * weighted;
    }
    (mean, square - mean * mean)
}

#[allow(clippy::cast_precision_loss)]
fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn gradients() -> impl Strategy<Value = Vec<f64>> {
    let gradient = prop_oneof![Just(0.0), -1.0..1.0_f64, -1e4..1e4_f64];
    prop::collection::vec(gradient, 1..20)
}

proptest! {
    #[test]
    fn probabilities_are_probabilities(grads in gradients(), mix in 0.001..1.0_f64) {
        let norms: Vec<f64> = grads.iter().map(|g| g.abs()).collect();
        let probabilities = sampler(&norms, mix).probabilities();
        prop_assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let least = mix / f64::from(u32::try_from(grads.len()).unwrap());
        prop_assert!(probabilities.iter().all(|p| *p >= least * (1.0 - 1e-12)));
    }

    #[test]
    fn the_weighted_mean_is_right_whatever_the_estimates_are(
        grads in gradients(),
        noise in prop::collection::vec(0.0..100.0_f64, 20),
        mix in 0.001..1.0_f64,
    ) {
        let sampler = sampler(&noise[..grads.len()], mix);
        let (mean, _) = moments(&sampler.probabilities(), &grads);
        prop_assert!((mean - mean_of(&grads)).abs() < 1e-8, "{mean}");
    }

    #[test]
    fn with_exact_norms_no_variance_is_above_that_of_drawing_all_alike(
        grads in gradients(),
        mix in 0.001..1.0_f64,
    ) {
        let norms: Vec<f64> = grads.iter().map(|g| g.abs()).collect();
        let count = f64::from(u32::try_from(grads.len()).unwrap());
        let (_, uniform) = moments(&vec![1.0 / count; grads.len()], &grads);
        let (_, variance) = moments(&sampler(&norms, mix).probabilities(), &grads);
        prop_assert!(variance <= uniform + 1e-9 * (1.0 + uniform), "{variance} > {uniform}");
    }

    #[test]
    fn a_weight_is_one_over_the_count_times_the_probability(grads in gradients(), seed: u64) {
        let norms: Vec<f64> = grads.iter().map(|g| g.abs()).collect();
        let sampler = sampler(&norms, 0.1);
        let probabilities = sampler.probabilities();
        for Draw { index, weight } in sampler.sample(50, seed) {
            let product = weight * probabilities[index] * f64::from(u32::try_from(grads.len()).unwrap());
            prop_assert!((product - 1.0).abs() < 1e-12);
            prop_assert!(weight <= 10.0 * (1.0 + 1e-12), "1 / mix");
        }
    }
}

#[test]
fn one_large_example_is_worth_the_sampling() {
    let grads = [0.1, -0.1, 0.2, 10.0];
    let norms = grads.map(f64::abs);
    let (_, uniform) = moments(&[0.25; 4], &grads);
    let (_, variance) = moments(&sampler(&norms, 0.1).probabilities(), &grads);
    assert!(variance < 0.1 * uniform, "{variance} and {uniform}");
}

/// The probabilities by hand: norms 1 and 3, of mean 2, and a tenth of the probability to each alike.
#[test]
fn two_examples_by_hand() {
    let probabilities = sampler(&[1.0, 3.0], 0.2).probabilities();
    for (got, expected) in probabilities.iter().zip([0.3, 0.7]) {
        assert!((got - expected).abs() < 1e-15, "{probabilities:?}");
    }
}

const DRAWS: usize = 40_000;

#[test]
fn examples_come_as_often_as_their_probability_says() {
    let sampler = sampler(&[0.0, 1.0, 2.0, 5.0, 0.5], 0.3);
    let mut counts = [0.0; 5];
    for draw in sampler.sample(DRAWS, 17) {
        counts[draw.index] += 1.0;
    }
    for (count, p) in counts.iter().zip(sampler.probabilities()) {
        let expected = p * 40_000.0;
        let away = (count - expected) / (expected * (1.0 - p)).sqrt();
        assert!(away.abs() < 4.0, "{away} standard errors, {counts:?}");
    }
}

#[test]
fn draws_are_right_on_average() {
    let mut random = Random::new(1511);
    let grads = random.normals(30);
    // Norms of an earlier model.
    let norms: Vec<f64> = grads
        .iter()
        .map(|g| (g + 0.3 * random.normal()).abs())
        .collect();
    let sampler = sampler(&norms, 0.1);
    let draws = sampler.sample(DRAWS, 5);
    let weighted: Vec<f64> = draws.iter().map(|d| d.weight * grads[d.index]).collect();
    let (mean, variance) = moments(&sampler.probabilities(), &grads);
    let error = (variance / 40_000.0).sqrt();
    let away = (mean_of(&weighted) - mean_of(&grads)) / error;
    assert!(away.abs() < 4.0, "{away} standard errors from {mean}");
    assert!(error < 0.1 * norms.iter().fold(0.0, |m, n| n.max(m)));
    let plain: Vec<f64> = draws.iter().map(|d| grads[d.index].abs()).collect();
    let size = mean_of(&grads.iter().map(|g| g.abs()).collect::<Vec<_>>());
    assert!(
        mean_of(&plain) > 1.2 * size,
        "large examples come more often"
    );
}

#[test]
fn the_weights_go_into_a_chain() {
    let sampler = sampler(&[1.0, 3.0], 0.2);
    let draws = sampler.sample(3, 1);
    let rows = [[1.0], [-3.0]];
    let mut input = batch([0, 1, 2].map(|b| rows[draws[b].index]));
    let weights = draws.iter().map(|draw| draw.weight).collect();
    input.extras.insert("importance".to_owned(), weights);
    let chain = program(&chain((scale_per_example("importance"), mean()))).unwrap();
    let of_draws: Vec<f64> = draws.iter().map(|d| d.weight * rows[d.index][0]).collect();
    let got = w(&step::<f64>(&chain, &input))[0];
    assert!((got - mean_of(&of_draws)).abs() < 1e-15);
}

#[test]
fn norms_of_zero_and_unknown_norms_are_drawn_alike() {
    let unknown = NormSampler::new(4).unwrap();
    for sampler in [unknown, sampler(&[0.0; 4], 0.1)] {
        assert_eq!(sampler.probabilities(), [0.25; 4]);
        assert!(sampler.sample(20, 3).iter().all(|draw| draw.weight == 1.0));
    }
}

#[test]
fn new_examples_are_drawn_like_those_of_the_mean_norm() {
    let mut sampler = NormSampler::new(4).unwrap();
    sampler.update(&[1, 3], &[1.0, 5.0]).unwrap();
    let probabilities = sampler.probabilities();
    assert_eq!([probabilities[0], probabilities[2]], [0.25; 2]);
    assert_eq!([0, 1].map(|i| sampler.estimate(i)), [None, Some(1.0)]);
    assert!(sampler.sample(200, 0).iter().any(|draw| draw.index == 0));
}

#[test]
fn an_example_of_norm_zero_is_still_drawn() {
    let sampler = sampler(&[0.0, 1.0], 0.5);
    assert_eq!(sampler.probabilities(), [0.25, 0.75]);
    assert!(sampler.sample(100, 9).iter().any(|draw| draw.index == 0));
}

#[test]
fn the_largest_norms_do_not_overflow() {
    let probabilities = sampler(&[f64::MAX, f64::MAX, 0.0], 0.1).probabilities();
    assert!((probabilities[0] - (0.9 * 1.5 + 0.1) / 3.0).abs() < 1e-15);
}

#[test]
fn estimates_are_smoothed() {
    let mut sampler = NormSampler::new(2).unwrap().smoothing(0.75).unwrap();
    sampler.update(&[0, 1], &[4.0, 1.0]).unwrap();
    sampler.update(&[0, 0], &[8.0, 8.0]).unwrap();
    // 4, then 5, then 5.75.
    assert_eq!([0, 1].map(|i| sampler.estimate(i)), [Some(5.75), Some(1.0)]);
}

#[test]
fn stale_estimates_are_forgotten() {
    let mut sampler = NormSampler::new(3)
        .unwrap()
        .smoothing(0.5)
        .unwrap()
        .stale_after(2);
    sampler.update(&[0, 1], &[6.0, 2.0]).unwrap();
    for _ in 0..2 {
        assert_eq!(sampler.estimate(0), Some(6.0));
        sampler.update(&[1], &[2.0]).unwrap();
    }
    assert_eq!(sampler.estimate(0), Some(6.0));
    sampler.update(&[1], &[2.0]).unwrap();
    assert_eq!(sampler.estimate(0), None);
    assert_eq!(sampler.estimate(1), Some(2.0));
    // A new norm is taken as it is.
    sampler.update(&[0], &[10.0]).unwrap();
    assert_eq!(sampler.estimate(0), Some(10.0));
}

#[test]
fn a_seed_gives_the_same_draws() {
    let sampler = sampler(&[1.0, 2.0, 3.0, 4.0], 0.1);
    assert_eq!(sampler.sample(30, 7), sampler.sample(30, 7));
    assert_eq!(sampler.sample(30, 7)[..10], sampler.sample(10, 7));
    assert_ne!(sampler.sample(30, 7), sampler.sample(30, 8));
    let indices: Vec<usize> = sampler.sample(8, 7).iter().map(|draw| draw.index).collect();
    insta::assert_snapshot!(format!("{indices:?}"), @"[1, 1, 3, 3, 2, 2, 0, 3]");
}

#[test]
fn a_sampler_survives_json() {
    let mut sampler = NormSampler::new(3).unwrap().stale_after(1);
    sampler.update(&[2], &[0.1]).unwrap();
    let text = serde_json::to_string(&sampler).unwrap();
    assert_eq!(serde_json::from_str::<NormSampler>(&text).unwrap(), sampler);
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut sampler = sampler(&[1.0, 2.0], 0.1);
    let before = sampler.clone();
    let mut refused = |indices: &[usize], norms: &[f64]| {
        let error = sampler.update(indices, norms).unwrap_err();
        assert_eq!(sampler, before);
        error
    };
    insta::assert_snapshot!(refused(&[0, 1], &[3.0, f64::NAN]), @"`norms[1]` must be finite and not negative, but it is NaN");
    insta::assert_snapshot!(refused(&[0, 1], &[f64::INFINITY, 1.0]), @"`norms[0]` must be finite and not negative, but it is inf");
    insta::assert_snapshot!(refused(&[0, 1], &[3.0, -1.0]), @"`norms[1]` must be finite and not negative, but it is -1");
    insta::assert_snapshot!(refused(&[0, 2], &[3.0, 1.0]), @"`indices[1]` must be below the number of examples, 2, but it is 2");
    insta::assert_snapshot!(refused(&[0, 1], &[3.0]), @"`norms` must have 2 numbers, but it has 1: give one for each");
    insta::assert_snapshot!(NormSampler::new(0).unwrap_err(), @"`examples` must be at least 1, but it is 0");
    insta::assert_snapshot!(before.clone().mix(0.0).unwrap_err(), @"`norm_sampler.mix` must be a number above 0 and at most 1, but it is 0");
    insta::assert_snapshot!(before.clone().smoothing(1.0).unwrap_err(), @"`norm_sampler.smoothing` must be a number of at least 0 and below 1, but it is 1");
}

#[test]
fn data_of_a_sampler_is_checked_as_the_constructors_check() {
    let read = |estimates: &str, mix: &str, smoothing: &str| {
        let text = format!(
            r#"{{"estimates": {estimates}, "mix": {mix}, "smoothing": {smoothing}, "stale_after": null, "updates": 3}}"#
        );
        serde_json::from_str::<NormSampler>(&text)
    };
    let fine = read(r#"[null, {"norm": 2, "at": 3}]"#, "0.1", "0").unwrap();
    assert_eq!([0, 1].map(|i| fine.estimate(i)), [None, Some(2.0)]);
    let refused = |estimates, mix, smoothing| {
        let error = read(estimates, mix, smoothing).unwrap_err();
        error.to_string()
    };
    insta::assert_snapshot!(refused("[]", "0.1", "0"), @"`examples` must be at least 1, but it is 0");
    insta::assert_snapshot!(refused("[null]", "7", "0"), @"`norm_sampler.mix` must be a number above 0 and at most 1, but it is 7");
    insta::assert_snapshot!(refused("[null]", "0.1", "-0.5"), @"`norm_sampler.smoothing` must be a number of at least 0 and below 1, but it is -0.5");
    insta::assert_snapshot!(refused(r#"[null, {"norm": -1, "at": 1}]"#, "0.1", "0"), @"`norm_sampler.estimates[1]` must be finite and not negative, but it is -1");
    insta::assert_snapshot!(refused(r#"[{"norm": 1, "at": 0}]"#, "0.1", "0"), @"`norm_sampler.estimates[0].at` must be from 1 to the number of updates, 3, but it is 0");
    insta::assert_snapshot!(refused(r#"[{"norm": 1, "at": 4}]"#, "0.1", "0"), @"`norm_sampler.estimates[0].at` must be from 1 to the number of updates, 3, but it is 4");
}
