//! How many micro-batches make the next step: tables.

use pergrad_transforms::batch_size::{BatchSizeSchedule, GnsGuided, gns_guided, linear_in_tokens};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn linear_in_tokens_is_a_table() {
    for (from, to, over, table) in [
        // Thirteen steps of 100 tokens each: a half goes up.
        (
            2,
            15,
            1300,
            &[
                (0, 2),
                (49, 2),
                (50, 3),
                (149, 3),
                (1249, 14),
                (1250, 15),
                (1300, 15),
            ][..],
        ),
        (2, 15, 1300, &[(1301, 15), (u64::MAX, 15)]),
        (4, 1, 300, &[(0, 4), (100, 3), (200, 2), (299, 1), (300, 1)]),
        (3, 3, 10, &[(0, 3), (5, 3), (10, 3)]),
        (2, 7, 0, &[(0, 7), (1, 7)]),
        (
            1,
            2,
            u64::MAX,
            &[
                (0, 1),
                (u64::MAX / 4, 1),
                (u64::MAX / 4 * 3, 2),
                (u64::MAX, 2),
            ],
        ),
    ] {
        let schedule: BatchSizeSchedule = linear_in_tokens(from, to, over).unwrap().into();
        for &(tokens, expected) in table {
            let got = schedule.micro_batches(tokens);
            assert_eq!(got, expected, "{from} to {to} over {over}, at {tokens}");
        }
    }
}

#[test]
fn linear_in_tokens_does_not_look_at_the_noise() {
    let mut schedule: BatchSizeSchedule = linear_in_tokens(2, 15, 1300).unwrap().into();
    let before = schedule.clone();
    for gns in [1e9, NAN, INF] {
        schedule.observe(gns);
        assert_eq!(schedule, before);
    }
}

/// Asserts the number after each noise scale, one after the other.
#[track_caller]
fn assert_follows(schedule: GnsGuided, table: &[(f64, usize)]) {
    let mut schedule = BatchSizeSchedule::from(schedule);
    for (at, &(gns, expected)) in table.iter().enumerate() {
        schedule.observe(gns);
        assert_eq!(schedule.micro_batches(7), expected, "{at}: {gns}");
    }
}

#[test]
fn gns_guided_begins_with_the_least() {
    assert_eq!(gns_guided(3, 16, 8.0).unwrap().micro_batches(), 3);
}

#[test]
fn gns_guided_without_hysteresis_is_a_table() {
    let at_once = gns_guided(2, 16, 8.0).unwrap().hysteresis(0.0).unwrap();
    assert_follows(
        at_once,
        &[
            (32.0, 4),
            (36.0, 5),
            (35.9, 4),
            (1e300, 16),
            (0.0, 2),
            (-5.0, 2),
            (127.9, 16),
            (-INF, 2),
        ],
    );
}

#[test]
fn gns_guided_keeps_the_last_number_at_a_nan_and_takes_the_most_without_a_signal() {
    let guided = gns_guided(2, 16, 8.0).unwrap();
    assert_follows(
        guided,
        &[
            (NAN, 2),
            (64.0, 8),
            (NAN, 8),
            (INF, 16),
            (NAN, 16),
            (64.0, 8),
        ],
    );
    // However slow it is else.
    let slow = gns_guided(2, 16, 8.0).unwrap().hysteresis(1e9).unwrap();
    assert_follows(slow, &[(64.0, 2), (INF, 16), (64.0, 16)]);
}

#[test]
fn gns_guided_stays_within_the_hysteresis() {
    let quarter = gns_guided(1, 100, 1.0).unwrap().hysteresis(0.25).unwrap();
    assert_follows(
        quarter,
        &[
            (40.0, 40),
            (50.0, 40),
            (50.5, 51),
            (39.0, 51),
            (38.0, 38),
            (28.6, 38),
            (28.4, 28),
        ],
    );
}

#[test]
fn gns_guided_takes_multiples_only() {
    let fours = gns_guided(4, 16, 1.0).unwrap().hysteresis(0.0).unwrap();
    let fours = fours.multiple_of(4).unwrap();
    assert_follows(
        fours,
        &[
            (5.9, 4),
            (6.0, 8),
            (9.9, 8),
            (14.1, 16),
            (99.0, 16),
            (0.0, 4),
        ],
    );
}

/// Tokens instead of examples: both are 32 times as many.
#[test]
fn the_units_of_the_noise_scale_are_those_of_a_micro_batch() {
    let mut examples = gns_guided(1, 64, 8.0).unwrap();
    let mut tokens = gns_guided(1, 64, 8.0 * 32.0).unwrap();
    for gns in [10.0, 80.0, 300.0, 290.0, 3.0] {
        examples.observe(gns);
        tokens.observe(gns * 32.0);
        assert_eq!(examples.micro_batches(), tokens.micro_batches(), "{gns}");
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused_by_name() {
    let linear = |from, to| linear_in_tokens(from, to, 10).unwrap_err();
    insta::assert_snapshot!(linear(0, 4), @"`linear_in_tokens.from` must be a whole number of at least 1, but it is 0");
    insta::assert_snapshot!(linear(4, 0), @"`linear_in_tokens.to` must be a whole number of at least 1, but it is 0");
    let guided = |min, max, holds| gns_guided(min, max, holds).unwrap_err();
    insta::assert_snapshot!(guided(0, 4, 1.0), @"`gns_guided.min` must be a whole number of at least 1, but it is 0");
    insta::assert_snapshot!(guided(5, 4, 1.0), @"`gns_guided.max` must be at least `min`, 5, but it is 4");
    insta::assert_snapshot!(guided(1, 4, 0.0), @"`gns_guided.per_micro_batch` must be a finite number above 0, but it is 0");
    for holds in [NAN, INF, -1.0] {
        assert!(gns_guided(1, 4, holds).is_err(), "{holds}");
    }
    let fine = || gns_guided(2, 4, 1.0).unwrap();
    insta::assert_snapshot!(fine().hysteresis(-0.5).unwrap_err(), @"`gns_guided.hysteresis` must be a finite number that is not negative, but it is -0.5");
    assert!(fine().hysteresis(NAN).is_err());
    insta::assert_snapshot!(fine().multiple_of(0).unwrap_err(), @"`gns_guided.multiple_of` must be a whole number of at least 1, but it is 0");
    insta::assert_snapshot!(fine().multiple_of(4).unwrap_err(), @"`gns_guided.multiple_of` must be a divisor of 2 and 4, but it is 4");
}

#[test]
fn a_schedule_survives_json_between_steps() {
    let mut guided = gns_guided(2, 16, 8.0).unwrap();
    guided.observe(64.0);
    for schedule in [
        BatchSizeSchedule::from(guided),
        linear_in_tokens(2, 15, 1300).unwrap().into(),
    ] {
        let json = serde_json::to_string(&schedule).unwrap();
        let back: BatchSizeSchedule = serde_json::from_str(&json).unwrap();
        assert_eq!(back, schedule, "{json}");
    }
}

#[test]
fn data_is_checked_as_the_constructors_check() {
    let read = |json: &str| serde_json::from_str::<BatchSizeSchedule>(json);
    let short = r#"{"batch_size": "gns_guided", "min": 2, "max": 16, "per_micro_batch": 8}"#;
    assert_eq!(read(short).unwrap(), gns_guided(2, 16, 8.0).unwrap().into());
    for wrong in [
        r#"{"batch_size": "linear_in_tokens", "from": 0, "to": 4, "over_tokens": 10}"#,
        r#"{"batch_size": "linear_in_tokens", "from": 1, "to": 4, "over_tokens": 10, "more": 1}"#,
        r#"{"batch_size": "gns_guided", "min": 5, "max": 4, "per_micro_batch": 8}"#,
        r#"{"batch_size": "gns_guided", "min": 2, "max": 4, "per_micro_batch": -8}"#,
        r#"{"batch_size": "gns_guided", "min": 2, "max": 4, "per_micro_batch": 8, "multiple_of": 3}"#,
        r#"{"batch_size": "gns_guided", "min": 2, "max": 4, "per_micro_batch": 8, "hysteresis": -1}"#,
        r#"{"batch_size": "gns_guided", "min": 2, "max": 4, "per_micro_batch": 8, "current": 9}"#,
        r#"{"batch_size": "other"}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
