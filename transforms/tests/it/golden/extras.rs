//! What optax counts and keeps beside the updates.

use pergrad_transforms::State;
use pergrad_transforms::runner::{HostTree, StepOutput};
use serde_json::Value;

use super::file::{Case, tree};

/// A step as it was taken.
pub(super) struct Taken<'a> {
    pub(super) output: &'a StepOutput,
    pub(super) before: &'a State,
    pub(super) after: &'a State,
    /// The parameters before it.
    pub(super) params: &'a HostTree,
}

/// Compares what a step left with what optax gave beside its updates.
pub(super) fn check(case: &Case, step: usize, taken: &Taken<'_>) {
    let Some(Value::Object(extra)) = case.extra.as_ref().map(|extra| &extra[step]) else {
        return;
    };
    let what = |name: &str| format!("{} step {step}: {name}", case.name);
    let one = |state: &State, slot: &str| state.get(slot, None).expect("a slot").values[0].0;
    for (name, want) in extra {
        let slot = match name.as_str() {
            "last_finite" => {
                let finite = one(taken.after, "apply_if_finite.consecutive") == 0.0;
                assert_eq!(Some(finite), want.as_bool(), "{}", what(name));
                continue;
            }
            "mini_step" => "accumulate.mini_step",
            "gradient_step" => "accumulate.gradient_step",
            "notfinite_count" => "apply_if_finite.consecutive",
            "total_notfinite" => "apply_if_finite.total",
            "slow_updates" => {
                slow_updates(&what(name), step, want, taken);
                continue;
            }
            // How many elements were not finite: of no use to anyone here.
            "num_not_finite" => continue,
            _ => panic!("{} is not known", what(name)),
        };
        let got = one(taken.after, slot);
        assert_eq!(Some(got), want.as_f64(), "{}", what(name));
        if name == "gradient_step" {
            let updated = taken.output.metrics["accumulate.has_updated"][0];
            assert_eq!(updated, got - one(taken.before, slot), "{}", what(name));
        }
    }
}

/// The slow parameters of `lookahead`.
fn slow_updates(what: &str, step: usize, want: &Value, taken: &Taken<'_>) {
    let slow = |state: &State, path: &str| -> Vec<f64> {
        let slot = state.get("lookahead.slow", Some(path)).expect("a slot");
        slot.values.iter().map(|x| x.0).collect()
    };
    for (path, want) in tree(want) {
        let before = match step {
            0 => taken.params[&path].values.clone(),
            _ => slow(taken.before, &path),
        };
        let got = slow(taken.after, &path).into_iter().zip(before);
        for ((after, before), want) in got.zip(&want.values) {
            // A difference of parameters, which are of the order of 1.
            assert!((after - before - want).abs() < 1e-14, "{what} of {path}");
        }
    }
}
