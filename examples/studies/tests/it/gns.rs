//! The gradient noise scale: identities, agreement of batch sizes, parts, and what is refused.

use pergrad_studies::gns::{Settings, identities, policies, run, stationary, track, watch};
use pergrad_studies::progress;

#[test]
fn signal_and_noise_make_up_the_norms_of_a_batch() {
    let found = identities::ask(&Settings::tiny()).unwrap();
    let [monitor, norms, looped] = found.spegn;
    // f32 against a loop in f64.
    assert!((monitor - looped).abs() < 1e-5 * looped, "{found:?}");
    assert!((norms - looped).abs() < 1e-5 * looped, "{found:?}");
    let [monitor, looped] = found.sgn;
    assert!((monitor - looped).abs() < 1e-5 * looped, "{found:?}");
    assert!(looped > 0.0);
}

#[test]
fn monitors_see_the_whole_of_a_batch_that_comes_in_parts() {
    let found = identities::ask(&Settings::tiny()).unwrap();
    assert_eq!(found.parts.len(), 3 * watch::GROUPS.len());
    // G^2 is a difference of norms, which may cancel; so the bound is on the squared norm.
    let [_, _, spegn] = found.spegn;
    for (name, [whole, parts]) in &found.parts {
        if !name.ends_with("scale") {
            assert!(
                (whole - parts).abs() < 1e-5 * spegn,
                "{name}: {whole}, {parts}"
            );
        }
    }
    // Each leaf is in one group, so the groups add up to all.
    for metric in ["g2", "s"] {
        let of = |group: &str| {
            let name = format!("{group}_0.{metric}");
            found.parts.iter().find(|(n, _)| *n == name).unwrap().1[0]
        };
        let sum: f64 = watch::GROUPS[1..].iter().map(|group| of(group)).sum();
        assert!((sum - of("all")).abs() < 1e-5 * spegn, "{metric}: {sum}");
    }
}

#[test]
fn small_and_large_batches_agree_where_the_noise_is_known() {
    let (estimates, [signal, noise]) = stationary::estimate(&Settings::tiny()).unwrap();
    assert_eq!(estimates.len(), 3);
    for it in estimates {
        // Five standard errors of 300 batches.
        assert!(it.g2.errors_from(signal) < 5.0, "{it:?}, not {signal}");
        assert!(it.s.errors_from(noise) < 5.0, "{it:?}, not {noise}");
        // An estimate that never moved would have no error, and one of noise alone would not tell.
        assert!(it.g2.standard_error() > 0.0);
        assert!(it.s.standard_error() < 0.2 * noise);
    }
}

#[test]
fn every_group_is_watched_at_every_step() {
    let settings = Settings::tiny();
    let tracks = track::run(&settings, &progress::bar(1)).unwrap();
    assert_eq!(tracks.len(), 2 * watch::GROUPS.len());
    for track in tracks {
        assert_eq!(track.scales.len(), settings.steps);
        assert!(track.scales.iter().all(|scale| *scale >= 0.0), "{track:?}");
    }
}

#[test]
fn schedules_spend_the_same_tokens_and_stay_within_their_bounds() {
    let settings = Settings::tiny();
    let runs = policies::run(&settings, &progress::bar(1)).unwrap();
    assert_eq!(runs.len(), 4);
    let (least, most) = (
        settings.micro_batch * settings.least,
        settings.micro_batch * settings.most,
    );
    for run in &runs {
        let tokens = run.losses.last().unwrap().tokens;
        let step = (most * settings.model.context) as u64;
        assert!((settings.budget..settings.budget + step).contains(&tokens));
        assert!(run.batches.iter().all(|b| (least..=most).contains(b)));
        assert!(run.losses.iter().all(|held| held.loss.is_finite()));
        assert!(run.reaches(f64::INFINITY).is_some() && run.reaches(0.0).is_none());
    }
    // All begin at the same weights.
    let first = runs[0].losses[0].loss;
    assert!(runs.iter().all(|run| run.losses[0].loss == first));
    assert!(runs[0].batches.iter().all(|b| *b == least));
    assert!(runs[1].batches.iter().all(|b| *b == most));
}

#[test]
fn the_report_is_complete_and_the_same_again_but_for_times() {
    let settings = Settings::tiny();
    let report = run(&settings).unwrap();
    assert_eq!(report.tables.len(), 5);
    let but_times = |report: &pergrad_studies::report::Report| format!("{:?}", &report.tables[..4]);
    assert_eq!(but_times(&report), but_times(&run(&settings).unwrap()));

    let folder = std::env::temp_dir().join(format!("pergrad_gns_{}", std::process::id()));
    let written = report.publish(&folder).unwrap();
    assert_eq!(written.len(), 3);
    let json = std::fs::read_to_string(&written[0]).unwrap();
    let svg = std::fs::read_to_string(&written[1]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(json.contains("spegn") && svg.contains("</svg>"));
}

#[test]
fn arguments_that_make_no_study_are_refused() {
    let error = |change: fn(&mut Settings)| {
        let mut settings = Settings::tiny();
        change(&mut settings);
        run(&settings).unwrap_err().to_string()
    };
    assert_eq!(
        error(|s| s.batch = 1),
        "`--batch` must be at least 2, but it is 1"
    );
    assert_eq!(
        error(|s| s.decays = vec![1.0]),
        "`--decays` must be at least 0 and below 1, but it is 1"
    );
    assert!(error(|s| s.decays.clear()).contains("an empty list"));
    assert!(error(|s| s.steps = 3).starts_with("`--steps` must be at least 4"));
    assert!(error(|s| s.learning_rate = f64::NAN).starts_with("`--learning-rate` must be"));
    assert!(error(|s| s.rate_exponent = f64::NAN).starts_with("`--rate-exponent` must be"));
    assert!(error(|s| s.most = 0).starts_with("`--most` must be at least 1"));
    assert!(error(|s| s.micro_batch = 1).starts_with("`--least` must be at least 2"));
    assert!(error(|s| s.budget = 0).starts_with("`--budget` must be at least 1"));
    assert!(error(|s| s.text.text = Some("no/file".into())).contains("cannot be read"));
    assert!(error(|s| s.text.tokens = 20).contains("take a longer text"));
    assert!(error(|s| s.model.context = 0).contains("at least 1"));
}
