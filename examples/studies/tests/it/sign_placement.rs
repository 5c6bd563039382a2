//! What theory says of the places of a sign, and that the study is complete.

use pergrad_studies::progress;
use pergrad_studies::sign_placement::{Settings, known_noise, run};
use pergrad_studies::table::{Entry, Table};
use pergrad_studies::text::TextSettings;
use pergrad_studies::transformer::TransformerSettings;

#[test]
fn measured_ratios_are_the_closed_forms_and_a_later_sign_is_no_worse() {
    let settings = Settings::tiny().noise;
    let ratios = known_noise::measure(&settings, 1, &progress::bar(settings.noise_batches.len()));
    let ratios = ratios.unwrap();
    assert_eq!(ratios.len(), 2 * 2 * 2 * 4);
    for ratio in &ratios {
        assert!(
            (ratio.measured - ratio.predicted).abs() < 5.0 * ratio.error,
            "{ratio:?}"
        );
        assert!(
            ratio.error < 0.1,
            "the test would let anything pass: {ratio:?}"
        );
    }
    for settings in [(1, 0.0), (1, 0.8), (16, 0.0), (16, 0.8)] {
        for r in [0.02, 0.1] {
            let of = ratios
                .iter()
                .filter(|x| (x.batch, x.beta) == settings && x.r == r);
            let signs: Vec<_> = of.take(3).collect();
            for pair in signs.windows(2) {
                let [earlier, later] = [pair[0], pair[1]];
                assert!(earlier.predicted <= later.predicted + 1e-12);
                let noise = earlier.error.hypot(later.error);
                assert!(
                    later.measured > earlier.measured - 5.0 * noise,
                    "{earlier:?}, {later:?}"
                );
            }
        }
    }
    let clear: Vec<_> = ratios
        .iter()
        .filter(|x| x.batch == 16 && x.beta == 0.8 && x.r == 0.1)
        .collect();
    let gap = clear[2].measured - clear[0].measured;
    assert!(
        gap > 3.0 * clear[2].error.hypot(clear[0].error),
        "the late sign is clearly better here: {clear:?}"
    );
}

fn table<'a>(tables: &'a [Table], start: &str) -> &'a Table {
    let found = tables.iter().find(|table| table.title.starts_with(start));
    found.unwrap_or_else(|| panic!("no table {start}"))
}

const LOSSES: &str = "Transformer: validation loss";

/// The losses of one learning rate: Micro, Sign, SignEMA, no sign.
fn losses(settings: &Settings) -> Vec<Vec<Entry>> {
    let report = run(settings).unwrap();
    let rows = &table(&report.tables, LOSSES).rows;
    rows.iter().map(|row| row[1..].to_vec()).collect()
}

#[test]
fn with_one_example_the_sign_of_the_mean_is_the_mean_of_the_signs() {
    let one = Settings {
        batch: 1,
        ..Settings::tiny()
    };
    for row in losses(&one) {
        assert_eq!(row[0], row[1]);
        assert_ne!(row[1], row[2]);
    }
}

#[test]
fn without_an_average_the_sign_before_it_is_the_sign_behind_it() {
    let forgetful = Settings {
        beta: 0.0,
        ..Settings::tiny()
    };
    for row in losses(&forgetful) {
        assert_eq!(row[1], row[2]);
        assert_ne!(row[0], row[1]);
    }
}

#[test]
fn the_report_is_complete_and_finite_and_the_same_each_time() {
    let settings = Settings::tiny();
    let report = run(&settings).unwrap();
    let again = run(&settings).unwrap();
    let json = |report| serde_json::to_string(report).unwrap();
    assert_eq!(json(&report), json(&again));

    assert_eq!(report.tables.len(), 6);
    let course = table(&report.tables, "Transformer: predicted ratios along");
    assert_eq!(course.rows.len(), 4);
    let numbers = |row: &[Entry]| -> Vec<f64> {
        let number = |entry: &Entry| match entry {
            Entry::Number(x) => Some(*x),
            Entry::Text(_) => None,
        };
        row.iter().filter_map(number).collect()
    };
    for row in &course.rows {
        let row = numbers(row);
        assert!(row.iter().all(|x| x.is_finite()), "{row:?}");
        assert!(row[3] <= row[4] && row[4] <= row[5], "{row:?}");
    }
    for row in &table(&report.tables, LOSSES).rows {
        assert!(numbers(row).iter().all(|x| x.is_finite() && *x > 0.0));
    }
    let ranks = table(&report.tables, "Transformer: rank");
    assert_eq!(ranks.rows.len(), 4);

    let folder = std::env::temp_dir().join(format!("pergrad_signs_{}", std::process::id()));
    let written = report.publish(&folder).unwrap();
    assert_eq!(written.len(), 5);
    for path in &written {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("SignEMA"), "{}", path.display());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn settings_that_make_no_sense_say_what_to_do() {
    let tiny = Settings::tiny;
    let with = |change: fn(&mut Settings)| {
        let mut settings = tiny();
        change(&mut settings);
        run(&settings).unwrap_err().to_string()
    };
    assert_eq!(with(|s| s.steps = 0), "--steps must be at least 1, not 0");
    assert_eq!(with(|s| s.batch = 0), "--batch must be at least 1, not 0");
    assert_eq!(
        with(|s| s.measured = 1),
        "--measured must be at least 2, not 1"
    );
    assert_eq!(
        with(|s| s.least_rate = f64::NAN),
        "--least-rate must be finite and above 0, not NaN"
    );
    assert_eq!(
        with(|s| s.beta = 1.0),
        "--beta must be at least 0 and below 1, not 1"
    );
    assert_eq!(
        with(|s| s.noise.noise_batches = vec![]),
        "--noise-batches needs at least one number"
    );
    assert_eq!(
        with(|s| s.noise.noise_betas = vec![1.0]),
        "--noise-betas must be from 0 to 0.999, not 1"
    );
    let short = with(|s| {
        s.text = TextSettings {
            tokens: 30,
            ..TextSettings::tiny()
        }
    });
    assert!(
        short.starts_with("the validation part of the text has 3 tokens, but one sequence needs 5"),
        "{short}"
    );
    let missing = with(|s| s.text.text = Some("no/such/file".into()));
    assert!(missing.contains("no/such/file cannot be read"), "{missing}");
    let wide = with(|s| {
        s.model = TransformerSettings {
            heads: 3,
            ..TransformerSettings::tiny()
        }
    });
    assert!(wide.contains("a multiple of the heads"), "{wide}");
}
