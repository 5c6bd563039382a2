//! Second moments: their expectations, the members of the family, and what is refused.

use burn::tensor::Device;
use pergrad::Optimizer;
use pergrad::prelude::*;
use pergrad_studies::adam_preconditioner::family::members;
use pergrad_studies::adam_preconditioner::{Settings, moments, run};
use pergrad_studies::quadratic::Quadratic;
use pergrad_studies::random::Random;

#[test]
fn second_moments_have_the_expectations_of_their_formulas() {
    let all = moments::measure(&Settings::tiny()).unwrap();
    assert_eq!(all.len(), 2 * 4);
    for it in all {
        for (expected, sample) in it.kinds {
            // Five standard errors, of 40 batches and 64 coordinates.
            assert!(
                sample.errors_from(expected) < 5.0,
                "{} at B = {}: {sample:?}, not {expected}",
                it.name,
                it.examples
            );
        }
        // A chain of zeros would stand next to the small expectations, but not next to 4.
        let signal = it.kinds[0].1.mean();
        assert!(signal > 0.2);
    }
}

/// The parameters after some steps over the same batches.
fn trained(chain: impl Transform<PerExample, Out = Aggregated>, examples: usize) -> Vec<f32> {
    let device = Device::default().autodiff();
    // Clear signals: no average of the square of the mean comes near 0, where it is clamped.
    let quadratic = Quadratic::new([(2.0, 0.3), (-1.0, 0.2), (3.0, 0.5)]);
    let mut point = quadratic.point(&device);
    let mut optimizer = Optimizer::new(chain).unwrap();
    let mut random = Random::new(3);
    for _ in 0..20 {
        let grads = quadratic.grads(examples, &mut random, &device).unwrap();
        point = optimizer.step(point, grads).unwrap();
    }
    point.w.val().into_data().iter::<f32>().collect()
}

#[test]
fn the_named_optimizers_are_members_of_the_family() {
    for examples in [2, 8] {
        let of = |name: &str| {
            let all = members(examples).into_iter();
            let found = all.filter(|it| it.name.starts_with(name));
            let member = found.min_by_key(|it| it.name.len()).unwrap();
            trained(adam_interpolation(0.01, member.a, member.c), examples)
        };
        for (name, expected) in [
            ("Adam", trained(adam(0.01), examples)),
            ("MicroAdam ", trained(micro_adam(0.01), examples)),
            ("MicroAdamVar", trained(micro_adam_var(0.01), examples)),
            ("MicroAdamMSQ", trained(micro_adam_msq(0.01), examples)),
        ] {
            for (x, y) in of(name).into_iter().zip(expected) {
                assert!(
                    (x - y).abs() < 1e-4,
                    "{name} at B = {examples}: {x}, not {y}"
                );
            }
        }
    }
}

#[test]
fn a_common_factor_of_both_weights_is_a_learning_rate() {
    let four = trained(adam_interpolation(0.02, 4.0, 1.0), 8);
    let one = trained(adam_interpolation(0.01, 1.0, 0.25), 8);
    for (x, y) in four.into_iter().zip(one) {
        assert!((x - y).abs() < 1e-5, "{x}, not {y}");
    }
}

#[test]
fn the_report_has_every_training_and_is_the_same_again() {
    let settings = Settings::tiny();
    let report = run(&settings).unwrap();
    // Moments, one heat table for each batch size, the best.
    assert_eq!(report.tables.len(), 4);
    for table in &report.tables[1..] {
        assert_eq!(table.rows.len(), 12, "{}", table.title);
    }
    let text = format!("{:?}", report.tables);
    assert_eq!(text, format!("{:?}", run(&settings).unwrap().tables));

    let folder = std::env::temp_dir().join(format!("pergrad_precond_{}", std::process::id()));
    let written = report.publish(&folder).unwrap();
    let json = std::fs::read_to_string(&written[0]).unwrap();
    let svg = std::fs::read_to_string(&written[1]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(json.contains("MicroAdamMSQ") && svg.contains("</svg>"));
}

#[test]
fn arguments_that_make_no_study_are_refused() {
    let error = |change: fn(&mut Settings)| {
        let mut settings = Settings::tiny();
        change(&mut settings);
        run(&settings).unwrap_err().to_string()
    };
    assert_eq!(
        error(|s| s.batch_sizes = vec![1]),
        "`--batch-sizes` must be at least 2, but it is 1"
    );
    assert_eq!(
        error(|s| s.learning_rates = vec![f64::NAN]),
        "`--learning-rates` must be a finite number above 0, but it is NaN"
    );
    assert_eq!(
        error(|s| s.learning_rates.clear()),
        "`--learning-rates` must be one value or several, with commas between them, but it is an empty list"
    );
    assert!(error(|s| s.steps = 0).starts_with("`--steps` must be at least 1"));
    assert!(error(|s| s.clip = 0.0).starts_with("`--clip` must be a finite number above 0"));
    assert!(error(|s| s.text.text = Some("no/file".into())).contains("cannot be read"));
    assert!(error(|s| s.text.tokens = 20).contains("take a longer text"));
    assert!(error(|s| s.model.heads = 3).contains("cannot share a width"));
}
