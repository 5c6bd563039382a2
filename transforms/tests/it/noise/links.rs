//! The links that add noise.

use pergrad_transforms::prelude::*;
use pergrad_transforms::random::normals;
use pergrad_transforms::runner::{HostTensor, StepInput};
use pergrad_transforms::spec::{Catalogue, ChainSpec};

use crate::model::{batch, step, steps, w};
use crate::tolerance::assert_close;

/// The links whose values are checked here.
pub(crate) fn names() -> [String; 3] {
    ["add_gaussian_noise", "add_noise", "noisy_sgd"].map(str::to_owned)
}

fn seed() -> Seed {
    Seed::from(7)
}

#[test]
fn add_gaussian_noise_adds_the_numbers_times_the_standard_deviation() {
    let program = program(&chain((mean(), add_gaussian_noise(0.5, seed())))).unwrap();
    let z = normals(&program.streams()[0].key, 0, 0, 0..3);
    let output = steps::<f64>(&program, &[batch([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])]);
    let expected: Vec<f64> = z.iter().map(|z| 2.0 + 0.5 * z).collect();
    assert_close::<f64>(w(&output[0]), &expected, "noise");
}

#[test]
fn no_noise_leaves_every_bit() {
    let values = [-0.0, f64::NAN, f64::INFINITY, 1e-300, 0.1];
    for link in [
        program_over::<Aggregated, _>(&add_gaussian_noise(0.0, seed())).unwrap(),
        program_over::<Aggregated, _>(&add_noise(0.0, 0.55, seed())).unwrap(),
    ] {
        let mut input = batch([values]);
        input.grads.insert("w".into(), HostTensor::new([5], values));
        let output = steps::<f64>(&link, &[input]);
        let bits = |values: &[f64]| values.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>();
        assert_eq!(bits(w(&output[0])), bits(&values));
    }
}

#[test]
fn a_unit_scales_the_noise() {
    let noisy = |stddev: f64, unit: f64| {
        let link = add_gaussian_noise(stddev, seed()).unit(unit);
        let program = program(&chain((mean(), link))).unwrap();
        let output = step::<f64>(&program, &batch([[1.0, 2.0]]));
        w(&output).to_vec()
    };
    assert_close::<f64>(&noisy(0.5, 4.0), &noisy(2.0, 1.0), "unit");
    assert_ne!(noisy(0.5, 4.0), [1.0, 2.0]);
    assert_eq!(noisy(0.5, 0.0), [1.0, 2.0]);
}

#[test]
fn a_model_without_parameters_gets_no_noise() {
    let program = program(&chain((sum(), add_gaussian_noise(1.0, seed())))).unwrap();
    let output = step::<f64>(&program, &StepInput::default());
    assert!(output.updates.is_empty());
}

#[test]
fn what_is_not_finite_stays_so_under_noise() {
    let program = program(&chain((mean(), add_gaussian_noise(1.0, seed())))).unwrap();
    let output = steps::<f64>(&program, &[batch([[f64::NAN, f64::NEG_INFINITY, 0.0]])]);
    let got = w(&output[0]);
    assert!(got[0].is_nan() && got[1] == f64::NEG_INFINITY && got[2].is_finite());
}

#[test]
fn a_schedule_of_the_standard_deviation_is_that_of_the_step() {
    let decaying = add_gaussian_noise(linear_schedule(1.0, 0.0, 2), seed());
    let program = program(&chain((mean(), decaying))).unwrap();
    let outputs = steps::<f64>(&program, &vec![batch([[0.0; 3]]); 3]);
    for (step, (output, stddev)) in (0..).zip(outputs.iter().zip([1.0, 0.5, 0.0])) {
        let z = normals(&program.streams()[0].key, step, 0, 0..3);
        let expected: Vec<f64> = z.iter().map(|z| stddev * z).collect();
        assert_close::<f64>(w(output), &expected, "noise");
    }
}

/// The variance of optax: `eta / (count + 1)^gamma`.
#[test]
fn the_variance_of_add_noise_fades_as_a_power_of_the_step() {
    const P: usize = 20_000;
    for gamma in [0.0, 0.55, 2.0] {
        let program = program(&chain((mean(), add_noise(0.3, gamma, seed())))).unwrap();
        let outputs = steps::<f64>(&program, &vec![batch([[0.0; P]]); 3]);
        for (step, output) in (1..).zip(&outputs) {
            let squares = w(output).iter().map(|x| x * x).sum::<f64>();
            #[allow(clippy::cast_precision_loss)]
            let variance = squares / P as f64;
            let expected = 0.3 * (-gamma * f64::from(step).ln()).exp();
            // Five standard deviations, sqrt(2 / P) each.
            assert!(
                (variance / expected - 1.0).abs() < 0.05,
                "{variance} {expected}"
            );
        }
    }
}

#[test]
fn noisy_sgd_is_its_chain_with_the_defaults_of_optax() {
    let short = program(&noisy_sgd(0.1).seed(seed())).unwrap();
    let long = (
        mean(),
        add_noise(0.01, 0.55, seed()),
        scale_by_learning_rate(0.1),
    );
    let inputs = vec![batch([[1.0, 2.0], [3.0, 5.0]]); 3];
    let (short, long) = (
        steps::<f64>(&short, &inputs),
        steps::<f64>(&program(&chain(long)).unwrap(), &inputs),
    );
    for (short, long) in short.iter().zip(&long) {
        assert_close::<f64>(w(short), w(long), "noisy_sgd");
        assert_ne!(w(short), [-0.2, -0.35], "there is noise");
    }
}

#[test]
fn parameters_of_noise_that_make_no_sense_are_refused() {
    let error = |chain: &dyn Fn() -> Result<
        pergrad_transforms::Program,
        pergrad_transforms::Error,
    >| { chain().unwrap_err().to_string() };
    insta::assert_snapshot!(error(&|| program(&chain((mean(), add_gaussian_noise(-1.0, seed()))))), @"`add_gaussian_noise.stddev` must be a finite number that is not negative, but it is -1");
    insta::assert_snapshot!(error(&|| program(&noisy_sgd(0.1).eta(f64::NAN))), @"`add_noise.eta` must be a finite number that is not negative, but it is NaN");
    insta::assert_snapshot!(error(&|| program(&noisy_sgd(0.1).gamma(f64::INFINITY))), @"`add_noise.gamma` must be a finite number that is not negative, but it is inf");
    insta::assert_snapshot!(error(&|| program(&noisy_sgd(0.1).gamma(-3.0))), @"`add_noise.gamma` must be a finite number that is not negative, but it is -3");
    let unit = |unit| move || program(&chain((mean(), add_gaussian_noise(0.0, seed()).unit(unit))));
    insta::assert_snapshot!(error(&unit(f64::INFINITY)), @"`add_gaussian_noise.unit` must be a finite number that is not negative, but it is inf");
    insta::assert_snapshot!(error(&unit(-1.0)), @"`add_gaussian_noise.unit` must be a finite number that is not negative, but it is -1");
}

#[test]
fn a_seed_in_a_specification_is_a_number_or_a_key() {
    let build = |seed: &str| {
        let text = format!(r#"["mean", {{"link": "add_gaussian_noise", "stddev": 1{seed}}}]"#);
        let spec: ChainSpec = serde_json::from_str(&text).unwrap();
        Catalogue::standard().build(&spec)?.optimizer_program()
    };
    let expected = program(&chain((mean(), add_gaussian_noise(1.0, seed())))).unwrap();
    assert_eq!(build(r#", "seed": 7"#).unwrap(), expected);
    let hex = format!(r#", "seed": "07{}""#, "0".repeat(62));
    assert_eq!(build(&hex).unwrap(), expected);
    assert_ne!(build("").unwrap(), build("").unwrap(), "of the system");
    insta::assert_snapshot!(build(r#", "seed": 0.5"#).unwrap_err(), @"the argument `seed` of `add_gaussian_noise` must be a whole number or 64 hexadecimal digits, but it is 0.5");
    insta::assert_snapshot!(build(r#", "seed": "5ecret""#).unwrap_err(), @r#"the argument `seed` of `add_gaussian_noise` must be a whole number or 64 hexadecimal digits, but it is "another text""#);
}
