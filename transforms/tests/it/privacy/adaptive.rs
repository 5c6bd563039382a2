//! The bound that follows a quantile of the norms.

use pergrad_transforms::prelude::*;
use pergrad_transforms::random::normals;
use pergrad_transforms::spec::{Catalogue, ChainSpec};
use pergrad_transforms::{DifferentiallyPrivateAdaptiveAggregate, Error};

use crate::model::{batch, column, step, steps, w};
use crate::random::Random;
use crate::tolerance::assert_close;

const CLIP_NORM: &str = "differentially_private_adaptive_aggregate.clip_norm";
const UNCLIPPED: &str = "differentially_private_adaptive_aggregate.unclipped";

fn adaptive(sigma: f64) -> DifferentiallyPrivateAdaptiveAggregate {
    let link = differentially_private_adaptive_aggregate(sigma, 4);
    let link = link.initial_clip_norm(1.0).count_noise(2.0);
    link.seed(Seed::from(7))
}

/// Algorithm 1 and theorem 1 of the paper, with a loop over the examples.
#[test]
fn updates_and_bounds_are_those_of_the_paper() {
    let link = adaptive(0.8).target_quantile(0.7).clip_learning_rate(0.3);
    let program = program(&link).unwrap();
    let [noise, count_noise] = program.streams() else {
        panic!("two streams")
    };
    let mut random = Random::new(5);
    let rows: [[f64; 2]; 5] = std::array::from_fn(|_| [random.normal(), random.normal()]);
    let outputs = steps::<f64>(&program, &vec![batch(rows); 4]);
    let sum_noise = 1.0 / (0.8_f64.powi(-2) - 4.0_f64.powi(-2)).sqrt();
    let mut bound = 1.0_f64;
    for (step, output) in (0..).zip(&outputs) {
        assert_close::<f64>(&output.metrics[CLIP_NORM], &[bound], "bound");
        let z = normals(&noise.key, step, 0, 0..2);
        let mut sum: Vec<f64> = z.iter().map(|z| sum_noise * bound * z).collect();
        let mut within = 2.0 * normals(&count_noise.key, step, 0, 0..1)[0];
        for row in rows {
            let norm = row[0].hypot(row[1]);
            within += if norm <= bound { 0.5 } else { -0.5 };
            for (sum, g) in sum.iter_mut().zip(row) {
                *sum += g * (bound / norm).min(1.0);
            }
        }
        let expected: Vec<f64> = sum.iter().map(|sum| sum / 4.0).collect();
        assert_close::<f64>(w(output), &expected, "update");
        let share = within / 4.0 + 0.5;
        assert_close::<f64>(&output.metrics[UNCLIPPED], &[share], "share");
        bound *= (-0.3 * (share - 0.7)).exp();
    }
}

/// The bound ends near the quantile, from below and from above.
#[test]
fn the_bound_comes_to_the_quantile_of_the_norms() {
    let mut random = Random::new(6);
    let mut norms: Vec<f64> = (0..101).map(|_| random.normal().exp()).collect();
    let input = column(&norms);
    norms.sort_by(f64::total_cmp);
    for (quantile, at) in [(0.5, 50), (0.9, 91)] {
        for begin in [1e-2, 1e2] {
            let link = differentially_private_adaptive_aggregate(0.0, 101).count_noise(0.0);
            let link = link.initial_clip_norm(begin).target_quantile(quantile);
            let program = program(&link).unwrap();
            let outputs = steps::<f64>(&program, &vec![input.clone(); 200]);
            let bound = outputs.last().unwrap().metrics[CLIP_NORM][0];
            let near = norms[at - 3]..norms[at + 3];
            assert!(near.contains(&bound), "{quantile}: {bound} not in {near:?}");
        }
    }
}

#[test]
fn without_noise_the_sum_is_exact_and_the_count_still_has_noise() {
    let output = step::<f64>(
        &program(&adaptive(0.0)).unwrap(),
        &batch([[0.5], [0.25], [8.0]]),
    );
    assert_eq!(w(&output), [1.75 / 4.0]);
    let share = output.metrics[UNCLIPPED][0];
    assert!((share - (0.5 + 0.5 / 4.0)).abs() > 1e-6, "there is noise");
    let exact = adaptive(0.0).count_noise(0.0);
    let exact = step::<f64>(&program(&exact).unwrap(), &batch([[0.5], [0.25], [8.0]]));
    assert_eq!(exact.metrics[UNCLIPPED], [0.5 + 0.5 / 4.0]);
}

#[test]
fn an_empty_batch_gives_noise_and_moves_the_bound_by_noise_only() {
    let program = program(&adaptive(0.8)).unwrap();
    let output = step::<f64>(&program, &batch::<0, 2>([]));
    assert!(w(&output).iter().all(|x| x.is_finite() && *x != 0.0));
    let noise = 2.0 * normals(&program.streams()[1].key, 0, 0, 0..1)[0];
    assert_close::<f64>(&output.metrics[UNCLIPPED], &[noise / 4.0 + 0.5], "share");
}

#[test]
fn an_example_that_is_not_finite_counts_as_longer_than_the_bound() {
    let link = adaptive(0.0).count_noise(0.0);
    let output = step::<f64>(
        &program(&link).unwrap(),
        &batch([[f64::NAN], [f64::INFINITY], [0.5]]),
    );
    assert_eq!(w(&output), [0.125]);
    assert_eq!(output.metrics[UNCLIPPED], [0.5 - 0.5 / 4.0]);
}

#[test]
fn without_a_learning_rate_the_bound_stays() {
    let program = program(&adaptive(0.8).clip_learning_rate(0.0)).unwrap();
    let outputs = steps::<f64>(&program, &vec![batch([[0.5], [3.0]]); 3]);
    assert!(
        outputs
            .iter()
            .all(|output| output.metrics[CLIP_NORM] == [1.0])
    );
}

#[test]
fn adaptive_bounds_that_make_no_sense_are_refused() {
    let error = |link: DifferentiallyPrivateAdaptiveAggregate| program(&link).unwrap_err();
    insta::assert_snapshot!(error(adaptive(0.8).count_noise(0.4)), @"`differentially_private_adaptive_aggregate.count_noise` must be more than half of `noise_multiplier`, which is 0.8, but it is 0.4");
    insta::assert_snapshot!(error(differentially_private_adaptive_aggregate(1.0, 8)), @"`differentially_private_adaptive_aggregate.count_noise` must be more than half of `noise_multiplier`, which is 1, but it is 0.4");
    insta::assert_snapshot!(error(adaptive(0.8).initial_clip_norm(0.0)), @"`differentially_private_adaptive_aggregate.initial_clip_norm` must be a finite number above 0, but it is 0");
    insta::assert_snapshot!(error(adaptive(0.8).target_quantile(1.5)), @"`differentially_private_adaptive_aggregate.target_quantile` must be a number from 0 to 1, but it is 1.5");
    insta::assert_snapshot!(error(adaptive(-0.8)), @"`differentially_private_adaptive_aggregate.noise_multiplier` must be a finite number that is not negative, but it is -0.8");
    insta::assert_snapshot!(error(adaptive(0.0).count_noise(f64::INFINITY)), @"`differentially_private_adaptive_aggregate.count_noise` must be a finite number that is not negative, but it is inf");
    insta::assert_snapshot!(error(differentially_private_adaptive_aggregate(1.0, -8)), @"`differentially_private_adaptive_aggregate.expected_batch_size` must be a finite number above 0, but it is -8");
    assert!(program(&adaptive(0.8).count_noise(0.8_f64.next_up() / 2.0)).is_ok());
}

#[test]
fn the_noise_of_an_adaptive_bound_is_constant_in_the_program() {
    let program = program(&adaptive(0.8)).unwrap();
    let names: Vec<_> = program.hypers().iter().map(|h| h.name.as_str()).collect();
    let named = [
        "expected_batch_size",
        "target_quantile",
        "clip_learning_rate",
    ];
    let named = named.map(|name| format!("differentially_private_adaptive_aggregate.{name}"));
    assert_eq!(names, named);
}

#[test]
fn a_schedule_of_the_noise_of_an_adaptive_bound_is_refused() {
    let build = |noise: &str| {
        let text = format!(
            r#"[{{"link": "differentially_private_adaptive_aggregate", "expected_batch_size": 4{noise}}}]"#
        );
        let spec: ChainSpec = serde_json::from_str(&text).unwrap();
        Catalogue::standard().build(&spec).map(|_| ())
    };
    let schedule = r#"{"schedule": "linear_schedule", "init_value": 1, "end_value": 9, "transition_steps": 2}"#;
    for field in ["noise_multiplier", "count_noise"] {
        let other = r#", "noise_multiplier": 0.1"#;
        let other = if field == "count_noise" { other } else { "" };
        let error = build(&format!(r#"{other}, "{field}": {schedule}"#)).unwrap_err();
        assert!(matches!(error, Error::ArgumentKind { .. }), "{error}");
        assert!(error.to_string().contains(field), "{error}");
    }
    insta::assert_snapshot!(build("").unwrap_err(), @"`differentially_private_adaptive_aggregate` needs the argument `noise_multiplier`, a number");
    assert!(build(r#", "noise_multiplier": 0.1, "count_noise": 2"#).is_ok());
}

/// A twentieth of the later ones would be less than half of the noise multiplier.
#[test]
fn the_noise_on_the_count_is_that_of_the_first_expected_batch_size() {
    let falling = || linear_schedule(40.0, 1.0, 3);
    let link = || {
        let link = differentially_private_adaptive_aggregate(1.0, falling());
        link.seed(Seed::from(7))
    };
    let inputs = vec![batch([[0.5, -0.2], [3.0, 1.0]]); 5];
    let got = steps::<f64>(&program(&link()).unwrap(), &inputs);
    let expected = steps::<f64>(&program(&link().count_noise(2.0)).unwrap(), &inputs);
    for (got, expected) in got.iter().zip(&expected) {
        assert!(w(got).iter().all(|x| x.is_finite()));
        assert_eq!(w(got), w(expected));
    }
}
