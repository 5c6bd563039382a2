//! The study of norms, in small.

use burn::tensor::Device;
use pergrad::{check_per_example_grads, per_example_grads};
use pergrad_studies::classifier::{Classifier, numbers};
use pergrad_studies::cnn::Cnn;
use pergrad_studies::digits::{Digits, DigitsSettings};
use pergrad_studies::example_norms::{Model, Settings, informed, run, variance};
use pergrad_studies::mlp::Mlp;
use pergrad_studies::table::Entry;

use crate::published::{column, published};

#[test]
fn the_report_is_complete_and_the_variance_by_norm_is_no_larger() {
    let settings = Settings::tiny();
    let report = run(&settings).unwrap();
    assert_eq!(report.tables.len(), 7);
    let found = &report.tables[0];
    assert_eq!(found.rows.len(), 2 * settings.epochs.len() + 1);
    for share in column(found, "avg. precision") {
        assert!(share > 0.0 && share <= 1.0, "{share}");
    }
    let variances = &report.tables[3];
    assert_eq!(variances.rows.len(), settings.epochs.len());
    let (alike, by_norm) = (column(variances, "alike"), column(variances, "by norm"));
    for (alike, by_norm) in alike.into_iter().zip(by_norm) {
        assert!(0.0 < by_norm && by_norm <= alike, "{by_norm} and {alike}");
    }
    for table in &report.tables {
        let numbers = table.rows.iter().flatten();
        for entry in numbers {
            assert!(
                !matches!(entry, Entry::Number(x) if !x.is_finite()),
                "{table}"
            );
        }
    }
    published(&report, 4);
}

#[test]
fn the_same_seed_gives_the_same_tables_but_for_the_times() {
    let settings = Settings {
        model: Model::Cnn,
        ..Settings::tiny()
    };
    let tables = || {
        let tables = run(&settings).unwrap().tables;
        tables[..6]
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(tables(), tables());
}

#[test]
fn norms_and_gradients_of_the_networks_are_those_of_single_examples() {
    fn check<C: Classifier>() {
        let device = Device::default().autodiff();
        let (digits, _) = Digits::load(&DigitsSettings::of(6)).unwrap();
        let model = C::new(&digits, 2, 5, &device);
        let losses = |m: &C, rows: std::ops::Range<usize>| {
            m.losses(digits.batch(&rows.collect::<Vec<_>>(), &device))
        };
        check_per_example_grads(&model, 6, losses, 1e-4).unwrap();
        let (_, norms) = model.all_norms(&digits, &device).unwrap();
        let all: Vec<usize> = (0..6).collect();
        let (_, grads) =
            per_example_grads(&model, |m| m.losses(digits.batch(&all, &device))).unwrap();
        let output = numbers(grads.leaf::<3>("output.weight").unwrap());
        for (norm, output) in norms.iter().zip(output.chunks(output.len() / 6)) {
            let part: f64 = output.iter().map(|x| x * x).sum();
            assert!(*norm * (1.0 + 1e-6) > part.sqrt());
        }
    }
    check::<Cnn>();
    check::<Mlp>();
}

#[test]
fn the_variance_is_that_of_all_draws_one_by_one() {
    // Four examples with one parameter: every draw can be listed.
    let gradients = [0.0, 2.0, -4.0, 6.0_f64];
    let norms = gradients.map(f64::abs);
    let middle = gradients.iter().sum::<f64>() / 4.0;
    for mix in [0.1, 0.5, 1.0] {
        let p = informed(&norms, mix).unwrap().probabilities();
        let listed: f64 = gradients
            .iter()
            .zip(&p)
            .map(|(g, p)| p * (g / (4.0 * p) - middle).powi(2))
            .sum();
        let told = variance(&norms, &p, middle * middle);
        assert!((told - listed).abs() < 1e-12, "{told} and {listed}");
    }
}

#[test]
fn settings_that_make_no_study_are_refused_with_the_way_out() {
    let refused = |settings: Settings| run(&settings).unwrap_err().to_string();
    let tiny = Settings::tiny;
    let error = refused(Settings { batch: 0, ..tiny() });
    assert_eq!(error, "`--batch` must be at least 1, but it is 0");
    let error = refused(Settings {
        learning_rate: f64::NAN,
        ..tiny()
    });
    assert_eq!(
        error,
        "`--learning-rate` must be a finite number above 0, but it is NaN"
    );
    let error = refused(Settings {
        corrupted: 1.5,
        ..tiny()
    });
    assert_eq!(
        error,
        "`--corrupted` must be from 0 to below 1, but it is 1.5"
    );
    let error = refused(Settings {
        epochs: vec![3, 1],
        ..tiny()
    });
    assert_eq!(error, "`--epochs` must rise, as in 0,1,4,16");
    let error = refused(Settings { mix: 0.0, ..tiny() });
    assert_eq!(error, "`--mix` must be above 0 and at most 1, but it is 0");
}
