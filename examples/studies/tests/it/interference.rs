//! The study of interference, in small.

use burn::tensor::Device;
use indicatif::ProgressBar;
use pergrad_studies::digits::Digits;
use pergrad_studies::interference::arm::{Arm, Base};
use pergrad_studies::interference::course::Outcome;
use pergrad_studies::interference::{Settings, run};
use pergrad_studies::table::Entry;

use crate::published::{column, published};

fn train(arm: Arm) -> Outcome {
    let settings = Settings::tiny();
    let device = Device::default().autodiff();
    let (train, test) = Digits::load(&settings.digits).unwrap();
    let optimizer = arm.optimizer(settings.rates()).unwrap();
    let course = settings.course();
    let bar = ProgressBar::hidden();
    course
        .run(optimizer, (&train, &test), (1, &device), &bar)
        .unwrap()
}

#[test]
fn an_unlimited_lambda_harms_no_more_examples_on_the_layer_at_any_step() {
    for base in Base::ALL {
        let arm = Arm {
            iterations: 2000,
            ..Arm::plain(base).lambda(f64::INFINITY)
        };
        let outcome = train(arm);
        assert_eq!(outcome.harm.len(), 6);
        for harm in &outcome.harm {
            assert!(harm.after <= harm.before, "{harm:?}");
        }
        let harmed = outcome.harm.iter().filter(|harm| harm.before > 0.0);
        assert!(harmed.count() > 0, "nothing was to be done");
    }
}

#[test]
fn a_lambda_of_0_is_the_plain_optimizer() {
    for base in Base::ALL {
        let plain = train(Arm::plain(base));
        let harm = plain.harm.iter();
        assert!(harm.clone().all(|harm| harm.before == harm.after));
        let other = train(Arm {
            iterations: 7,
            only_layer: true,
            ..Arm::plain(base)
        });
        assert_eq!(plain.batch_losses, other.batch_losses);
    }
}

#[test]
fn the_report_is_complete_and_finite() {
    let report = run(&Settings::tiny()).unwrap();
    assert_eq!(report.tables.len(), 6);
    for table in &report.tables {
        for entry in table.rows.iter().flatten() {
            assert!(
                !matches!(entry, Entry::Number(x) if !x.is_finite()),
                "{table}"
            );
        }
    }
    // Plain, one lambda, and that on the last layer only; AdamW in its own metric too.
    let rows = |at: usize| report.tables[at].rows.len();
    assert_eq!([rows(0), rows(1), rows(2), rows(3)], [3, 3, 4, 4]);
    for at in [0, 2] {
        for name in [
            "last layer, before",
            "last layer, after",
            "loss really rose",
        ] {
            let shares = column(&report.tables[at], name);
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        }
    }
    published(&report, 2);
}

#[test]
fn settings_that_make_no_study_are_refused_with_the_way_out() {
    let refused = |settings: Settings| run(&settings).unwrap_err().to_string();
    let tiny = Settings::tiny;
    let error = refused(Settings { seeds: 0, ..tiny() });
    assert_eq!(error, "`--seeds` must be at least 1, but it is 0");
    let error = refused(Settings {
        widths: Vec::new(),
        ..tiny()
    });
    assert_eq!(error, "`--widths` must be at least 1, but it is 0");
    let error = refused(Settings {
        adamw_rate: f64::NAN,
        ..tiny()
    });
    assert_eq!(
        error,
        "`--adamw-rate` must be a finite number above 0, but it is NaN"
    );
    let error = refused(Settings {
        lambdas: vec![1.0, f64::NAN],
        ..tiny()
    });
    assert_eq!(
        error,
        "`--lambdas` must be above 0 (inf is allowed), but it is NaN"
    );
}

#[test]
fn the_command_line_has_its_own_number_of_images() {
    let settings = <Settings as clap::Parser>::try_parse_from(["interference"]).unwrap();
    assert_eq!(settings.digits.train, 300);
}
