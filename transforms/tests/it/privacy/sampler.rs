//! Batches by chance: how often, and how independently.

use pergrad_transforms::Seed;
use pergrad_transforms::privacy::PoissonSampler;

fn sampler(examples: usize, rate: f64) -> PoissonSampler {
    PoissonSampler::new(examples, rate, Seed::from(7)).unwrap()
}

/// A size is binomial: mean `N q`, variance `N q (1 - q)`. The bounds are five standard deviations of each estimate.
#[test]
#[allow(clippy::cast_precision_loss)]
fn sizes_have_the_mean_and_the_variance_of_independent_examples() {
    for (examples, rate) in [(1000, 0.02), (300, 0.5)] {
        let sizes: Vec<f64> = (sampler(examples, rate).take(4000))
            .map(|batch| batch.len() as f64)
            .collect();
        let mean = sizes.iter().sum::<f64>() / 4000.0;
        let variance = sizes.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 4000.0;
        let expected = examples as f64 * rate * (1.0 - rate);
        assert!((mean - examples as f64 * rate).abs() < 5.0 * (expected / 4000.0).sqrt());
        assert!((variance / expected - 1.0).abs() < 5.0 * (2.0_f64 / 4000.0).sqrt());
    }
}

/// Of 20000 batches: each example in half of them, two examples together in a quarter, and one twice in a row in a quarter.
#[test]
fn examples_and_batches_do_not_know_of_each_other() {
    const BATCHES: usize = 20_000;
    let batches: Vec<Vec<usize>> = sampler(5, 0.5).take(BATCHES).collect();
    let share = |holds: &dyn Fn(usize) -> bool| {
        let count = (1..BATCHES).filter(|&t| holds(t)).count();
        f64::from(u32::try_from(count).unwrap()) / 20_000.0
    };
    for a in 0..5 {
        let often = share(&|t| batches[t].contains(&a));
        assert!((often - 0.5).abs() < 0.018, "{often}");
        let again = share(&|t| batches[t].contains(&a) && batches[t - 1].contains(&a));
        assert!((again - 0.25).abs() < 0.016, "{again}");
        for b in a + 1..5 {
            let both = share(&|t| batches[t].contains(&a) && batches[t].contains(&b));
            assert!((both - 0.25).abs() < 0.016, "{both}");
        }
    }
}

#[test]
fn empty_batches_come_too() {
    let empty = sampler(3, 0.1).take(1000).filter(Vec::is_empty).count();
    assert!((650..810).contains(&empty), "0.9^3 of them: {empty}");
    assert!(sampler(0, 0.5).take(3).all(|batch| batch.is_empty()));
}

#[test]
fn nobody_is_in_at_rate_zero_and_everybody_at_rate_one() {
    assert!(sampler(1000, 0.0).take(10).all(|batch| batch.is_empty()));
    let all: Vec<usize> = (0..1000).collect();
    assert!(sampler(1000, 1.0).take(10).all(|batch| batch == all));
}

#[test]
fn a_seed_gives_the_same_batches_and_a_run_can_go_on() {
    let batches: Vec<_> = sampler(50, 0.3).take(6).collect();
    assert_eq!(batches, sampler(50, 0.3).take(6).collect::<Vec<_>>());
    let rest: Vec<_> = sampler(50, 0.3).starting_at(4).take(2).collect();
    assert_eq!(rest, batches[4..]);
    assert_eq!(sampler(50, 0.3).batch(5), batches[5]);
    let other = PoissonSampler::new(50, 0.3, Seed::from(8)).unwrap();
    assert_ne!(batches, other.take(6).collect::<Vec<_>>());
    assert!(batches.iter().all(|batch| batch.is_sorted()));
}

#[test]
fn a_rate_that_is_none_is_refused() {
    let error = |rate| PoissonSampler::new(10, rate, Seed::from(7)).unwrap_err();
    insta::assert_snapshot!(error(1.5), @"`privacy.rate` must be a number from 0 to 1, but it is 1.5");
    insta::assert_snapshot!(error(f64::NAN), @"`privacy.rate` must be a number from 0 to 1, but it is NaN");
}
