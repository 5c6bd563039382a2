//! Wrappers: what optax gives, and which cases there are no words for.

use serde_json::Value;

use super::case::{Case, Taken, cases};

/// Checks the chosen cases of a file and returns the names of those that cannot be said, with the reason.
fn check(text: &str, chosen: impl Fn(&Case) -> bool) -> (usize, Vec<String>) {
    let mut unsupported = Vec::new();
    let mut checked = 0;
    for case in cases(text).iter().filter(|case| chosen(case)) {
        match case.program() {
            Ok(program) => {
                case.check(&program, extra);
                checked += 1;
            }
            Err(why) => unsupported.push(format!("{}: {why}", case.name())),
        }
    }
    (checked, unsupported)
}

/// Compares what optax counts, and the slow parameters of `lookahead`.
fn extra(case: &Case, step: usize, extra: &Value, taken: &Taken<'_>) {
    for (name, want) in extra.as_object().unwrap() {
        let consecutive = taken.after.get("apply_if_finite.consecutive", None);
        let slot = match name.as_str() {
            "last_finite" => {
                let finite = consecutive.unwrap().values[0].0 == 0.0;
                assert_eq!(finite, want.as_bool().unwrap(), "{}", case.name());
                continue;
            }
            "mini_step" => "accumulate.mini_step",
            "gradient_step" => "accumulate.gradient_step",
            "notfinite_count" => "apply_if_finite.consecutive",
            "total_notfinite" => "apply_if_finite.total",
            "slow_updates" => {
                let slow = |state: &pergrad_transforms::State, path: &str| -> Vec<f64> {
                    let slot = state.get("lookahead.slow", Some(path)).unwrap();
                    slot.values.iter().map(|x| x.0).collect()
                };
                for (path, want) in Case::extra_leaves(want) {
                    let before = match step {
                        0 => taken.params[&path].values.clone(),
                        _ => slow(taken.before, &path),
                    };
                    let got = slow(taken.after, &path).into_iter().zip(before);
                    let got: Vec<f64> = got.map(|(after, before)| after - before).collect();
                    for (got, want) in got.iter().zip(&want.values) {
                        // A difference of parameters, which are of the order of 1.
                        assert!((got - want).abs() < 1e-14, "{}: {name}", case.name());
                    }
                }
                continue;
            }
            // How many elements were not finite: of no use to anyone here.
            "num_not_finite" => continue,
            _ => panic!("{}: nothing is known of {name}", case.name()),
        };
        let got = taken.after.get(slot, None).unwrap().values[0].0;
        case.assert_close(&[got], &[want.as_f64().unwrap()], step, name);
        if name == "gradient_step" {
            let before = taken.before.get(slot, None).unwrap().values[0].0;
            let updated = taken.output.metrics["accumulate.has_updated"][0];
            assert_eq!(updated, got - before, "{}", case.name());
        }
    }
}

#[test]
fn wrappers_agree_with_optax() {
    let (checked, unsupported) = check(
        include_str!("../../../../tests/golden/aggregated_wrappers.json"),
        |_| true,
    );
    // Links that do not exist yet; nothing is wrong with the chains around them.
    assert_eq!(
        unsupported,
        [
            "chain_agc_trace_schedule: there is no link `adaptive_grad_clip`: the catalogue lists those that exist",
            "chain_centralize_clip_rms_momentum: there is no link `centralize`: the catalogue lists those that exist",
            "chain_long: there is no link `scale_by_belief`: did you mean `scale_by_lion`?",
        ]
    );
    assert_eq!(checked, 43);
}

#[test]
fn wrappers_of_contrib_agree_with_optax() {
    let wraps = ["mechanize", "schedule_free", "sam"];
    let (checked, unsupported) = check(
        include_str!("../../../../tests/golden/aggregated_contrib.json"),
        |case| wraps.iter().any(|name| case.name().starts_with(name)),
    );
    assert_eq!(unsupported, [""; 0]);
    assert_eq!(checked, 8);
}

#[test]
fn wrappers_guard_against_nan_as_optax_does() {
    let wraps = ["apply_if_finite", "multi_steps"];
    let (checked, unsupported) = check(
        include_str!("../../../../tests/golden/aggregated_nonfinite.json"),
        |case| wraps.iter().any(|name| case.name().starts_with(name)),
    );
    assert_eq!(unsupported, [""; 0]);
    assert_eq!(checked, 5);
}

#[test]
fn schedule_free_counts_from_1_as_optax_does() {
    let (checked, unsupported) = check(
        include_str!("../../../../tests/golden/aggregated_quirks.json"),
        |case| case.name() == "schedule_free_count_from_1",
    );
    assert_eq!(unsupported, [""; 0]);
    assert_eq!(checked, 1);
}

/// Two quirks are not followed: optax multiplies by 0 what is not given out, so that a NaN is in those zeros, and stays for ever.
#[test]
fn a_nan_is_in_the_step_it_belongs_to_and_in_no_other() {
    for case in cases(include_str!(
        "../../../../tests/golden/aggregated_quirks.json"
    )) {
        let last = match case.name() {
            "multi_steps_nan_poisons" => -1.0,
            "apply_every_nan_poisons" => 2.0,
            _ => continue,
        };
        let steps = case.updates("w");
        assert_eq!(steps[0], [0.0; 6]);
        assert!(steps[1].iter().all(|x| x.is_nan()));
        assert_eq!(steps[2..], [[0.0; 6], [last; 6]]);
    }
}
