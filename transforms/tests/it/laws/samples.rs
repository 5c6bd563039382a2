//! Sample arguments for every link of the catalogue, and where it may stand.

use std::sync::LazyLock;

use pergrad_transforms::Program;
use pergrad_transforms::spec::{Catalogue, ChainSpec, LinkSpec};

use super::{noisy, shelf};

/// Where a link may stand, written down by hand: the oracle of the run-time checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// Before and after the reduction.
    Anywhere,
    /// Before it.
    Before,
    /// It is the reduction, and nothing else.
    Reduces,
    /// It is the reduction, or comes after it.
    ReducesOrAfter,
    /// After it.
    After,
}
use Stands::{After, Anywhere, Before, Reduces, ReducesOrAfter};

/// Links as JSON.
pub(super) static SAMPLES: LazyLock<Vec<(Stands, &str)>> = LazyLock::new(|| {
    let all = |stands: Stands| move |json: &&'static str| (stands, *json);
    let mut samples = HAND_PICKED.to_vec();
    samples.extend(shelf::ANYWHERE.iter().map(all(Anywhere)));
    samples.extend(shelf::AFTER.iter().map(all(After)));
    samples.extend(shelf::REDUCES.iter().map(all(Reduces)));
    samples.extend(noisy::AFTER.iter().map(all(After)));
    samples.extend(noisy::REDUCES.iter().map(all(Reduces)));
    samples.extend(noisy::OPTIMIZERS.iter().map(all(ReducesOrAfter)));
    let optimizers = shelf::OPTIMIZERS.iter().map(|(json, _)| json);
    samples.extend(optimizers.map(all(ReducesOrAfter)));
    samples
});

const HAND_PICKED: &[(Stands, &str)] = &[
    (Before, r#"{"link": "cabs", "learning_rate": 0.1}"#),
    (Before, r#""cosine""#),
    (Before, r#""early_stopping""#),
    (Before, r#"{"link": "early_stopping", "eps": 0.5}"#),
    (Before, r#"{"link": "gns", "decay": 0.5}"#),
    (
        Before,
        r#"{"link": "gns", "over": "leaves", "by": "variance", "leaves": {"matching": "w"}}"#,
    ),
    (Before, r#""gsnr""#),
    (
        Before,
        r#"{"link": "gsnr", "unbiased": true, "elements": true}"#,
    ),
    (
        Reduces,
        r#"{"link": "harm", "links": [{"link": "sgd", "learning_rate": 0.1, "momentum": 0.9}]}"#,
    ),
    (Before, r#""inner_product_test""#),
    (Before, r#""norm_test""#),
    (Before, r#""orthogonality_test""#),
    (
        Before,
        r#"{"link": "per_example_norms", "leaf_norms": true, "outliers_above": 1.05}"#,
    ),
    (Anywhere, r#""abs""#),
    (Anywhere, r#"{"link": "add_scalar", "value": 0.5}"#),
    (Anywhere, r#"{"link": "at_least", "bound": 0.25}"#),
    (Anywhere, r#"{"link": "clip", "max_delta": 0.5}"#),
    (Anywhere, r#""identity""#),
    (Anywhere, r#"{"link": "power", "exponent": 2}"#),
    (Anywhere, r#"{"link": "power", "exponent": -1}"#),
    (Anywhere, r#""reciprocal""#),
    (Anywhere, r#"{"link": "scale", "step_size": -0.1}"#),
    (Anywhere, r#""sign""#),
    (Anywhere, r#""sqrt""#),
    (Anywhere, r#""square""#),
    (Anywhere, r#""tanh""#),
    (Anywhere, r#""zero_nans""#),
    (Before, r#"{"link": "clip_per_example", "max_norm": 2}"#),
    (
        Before,
        r#"{"link": "clip_per_example", "max_norm": 2, "over": "leaves"}"#,
    ),
    (
        Before,
        r#"{"link": "clip_per_example", "max_norm": 2, "over": "leaves_by_size", "drop_nonfinite": true}"#,
    ),
    (Before, r#""coordinate_statistics""#),
    (Before, r#""normalize_per_example""#),
    (
        Before,
        r#"{"link": "normalize_per_example", "eps": 0.5, "over": "leaves"}"#,
    ),
    (
        Before,
        r#"{"link": "scale_per_example", "weights": "importance"}"#,
    ),
    (Before, r#"{"link": "scale_by_past_rms", "decay": 0.9}"#),
    (ReducesOrAfter, r#""batch_mean""#),
    (Reduces, r#""geometric_median""#),
    (
        Reduces,
        r#"{"link": "geometric_median", "iterations": 2, "eps": 0.5}"#,
    ),
    (Reduces, r#""least_harm""#),
    (
        Reduces,
        r#"{"link": "least_harm", "lambda": 0.5, "iterations": 5}"#,
    ),
    (Reduces, r#""majority""#),
    (Reduces, r#""max""#),
    (Reduces, r#""mean""#),
    (Reduces, r#""median""#),
    (Reduces, r#""min""#),
    (Reduces, r#""project_conflicts""#),
    (Reduces, r#""sum""#),
    (Reduces, r#"{"link": "trimmed_mean", "k": 1}"#),
    (Reduces, r#""unbiased_square_of_mean""#),
    (Reduces, r#""upgrad""#),
    (Reduces, r#""variance""#),
    (Reduces, r#"{"link": "variance", "ddof": 1}"#),
    (
        Anywhere,
        r#"{"link": "add_decayed_weights", "weight_decay": 0.1}"#,
    ),
    (
        Anywhere,
        r#"{"link": "add_decayed_weights", "weight_decay": 0.1, "mask": {"matching": "v*"}}"#,
    ),
    (After, r#"{"link": "clip_by_global_norm", "max_norm": 1}"#),
    (After, r#"{"link": "ema", "decay": 0.9}"#),
    (After, r#"{"link": "ema", "decay": 0.9, "debias": false}"#),
    (After, r#"{"link": "ema", "decay": 0.9, "nesterov": true}"#),
    (
        After,
        r#"{"link": "ema", "decay": 0.9, "debias": false, "nesterov": true}"#,
    ),
    (After, r#""scale_by_adam""#),
    (
        Anywhere,
        r#"{"link": "scale_by_learning_rate", "learning_rate": 0.1}"#,
    ),
    (
        Anywhere,
        r#"{"link": "scale_by_learning_rate", "flip_sign": false, "learning_rate":
            {"schedule": "linear_schedule", "init_value": 1, "end_value": 0, "transition_steps": 4}}"#,
    ),
    (After, r#""scale_by_lion""#),
    (After, r#"{"link": "trace", "decay": 0.9}"#),
    (
        After,
        r#"{"link": "trace", "decay": 0.9, "nesterov": true}"#,
    ),
    (ReducesOrAfter, r#"{"link": "adam", "learning_rate": 0.1}"#),
    (
        ReducesOrAfter,
        r#"{"link": "adam", "learning_rate": 0.1, "nesterov": true, "eps_root": 0.01}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "adamw", "learning_rate": 0.1, "weight_decay": 0.1}"#,
    ),
    (
        Reduces,
        r#"{"link": "adam_interpolation", "learning_rate": 0.1, "a": 1, "c": 0.5}"#,
    ),
    (
        Reduces,
        r#"{"link": "adam_with_second_moment", "learning_rate": 0.1, "statistic": ["abs", "median"]}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "lion", "learning_rate": 0.1, "weight_decay": 0.1}"#,
    ),
    (Reduces, r#"{"link": "micro_adam", "learning_rate": 0.1}"#),
    (
        Reduces,
        r#"{"link": "micro_adam_msq", "learning_rate": 0.1}"#,
    ),
    (
        Reduces,
        r#"{"link": "micro_adam_var", "learning_rate": 0.1}"#,
    ),
    (
        Reduces,
        r#"{"link": "micro_sign_sgd", "learning_rate": 0.1}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "sgd", "learning_rate": 0.1, "momentum": 0.9, "nesterov": true}"#,
    ),
    (ReducesOrAfter, r#"{"link": "sgd", "learning_rate": 0.1}"#),
    (
        ReducesOrAfter,
        r#"{"link": "sign_ema", "learning_rate": 0.1}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "sign_sgd", "learning_rate": 0.1}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "sign_sgd", "learning_rate": 0.1, "beta": 0.9}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "signum", "learning_rate": 0.1}"#,
    ),
    (
        Anywhere,
        r#"{"link": "masked", "links": ["sign"], "leaves": {"matching": "v*"}}"#,
    ),
    (
        Before,
        r#"{"link": "masked", "links": [{"link": "clip_per_example", "max_norm": 2}], "leaves": {"rank_at_least": 2}}"#,
    ),
    (
        After,
        r#"{"link": "masked", "links": ["scale_by_adam"], "leaves": {"all_of": ["all", {"matching": "w"}]}}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "partition", "parts": [{"leaves": {"matching": "w"}, "links": [{"link": "adam", "learning_rate": 0.1}]}, {"leaves": {"any_of": [{"not": {"matching": "w"}}, {"rank_at_least": 7}]}, "links": ["batch_mean", {"link": "clip_by_global_norm", "max_norm": 1}]}]}"#,
    ),
    (
        Anywhere,
        r#"{"link": "partition", "parts": [{"leaves": {"matching": "w"}, "links": "sign"}, {"leaves": "all", "links": "set_to_zero"}]}"#,
    ),
    (
        After,
        r#"{"link": "accumulate", "links": [{"link": "adam", "learning_rate": 0.1}], "every_k": 2}"#,
    ),
    (
        After,
        r#"{"link": "accumulate", "links": [{"link": "trace", "decay": 0.9}, {"link": "scale_by_learning_rate", "learning_rate": {"schedule": "linear_schedule", "init_value": 1, "end_value": 0, "transition_steps": 4}}], "every_k": {"schedule": "linear_schedule", "init_value": 1, "end_value": 3, "transition_steps": 2}, "use_grad_mean": false, "skip_not_finite": true, "skip_larger_than": 100}"#,
    ),
    (
        After,
        r#"{"link": "apply_if_finite", "links": [{"link": "sgd", "momentum": 0.9, "learning_rate": {"schedule": "linear_schedule", "init_value": 1, "end_value": 0, "transition_steps": 4}}], "max_consecutive_errors": 2}"#,
    ),
    (
        Anywhere,
        r#"{"link": "conditionally_mask", "links": ["sign"], "condition": {"step_multiple_of": 2}}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "conditionally_mask", "links": [{"link": "adam", "learning_rate": 0.1}], "condition": {"step_multiple_of": 3}}"#,
    ),
    (
        Anywhere,
        r#"{"link": "conditionally_transform", "links": ["square"], "condition": {"step_lt": 1}}"#,
    ),
    (
        After,
        r#"{"link": "conditionally_transform", "links": ["scale_by_adam"], "condition": {"step_multiple_of": 2}}"#,
    ),
    (
        Before,
        r#"{"link": "flatten", "links": [{"link": "clip_per_example", "max_norm": 2, "over": "leaves_by_size"}]}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "flatten", "links": [{"link": "adam", "learning_rate": 0.1}]}"#,
    ),
    (
        Anywhere,
        r#"{"link": "freeze", "leaves": {"matching": "v*"}}"#,
    ),
    (
        After,
        r#"{"link": "lookahead", "links": [{"link": "sgd", "momentum": 0.9, "learning_rate": 0.1}], "sync_period": 2, "slow_step_size": 0.5, "reset_state": true}"#,
    ),
    (
        After,
        r#"{"link": "mechanize", "links": [{"link": "sgd", "learning_rate": 10}], "s_init": 0.1}"#,
    ),
    (
        After,
        r#"{"link": "reduce_on_plateau", "patience": 1, "cooldown": 1, "accumulation_size": 2}"#,
    ),
    (
        Reduces,
        r#"{"link": "reduce_interference", "links": {"link": "adamw", "learning_rate": 0.1}, "lambda": 0.5}"#,
    ),
    (
        Reduces,
        r#"{"link": "reduce_interference", "links": ["mean", {"link": "scale", "step_size": 0.1}], "lambda": 0.1, "iterations": 5, "layer": {"matching": "w"}, "only_layer": true, "preconditioner": ["square", "mean", {"link": "ema", "decay": 0.9}]}"#,
    ),
    (
        Reduces,
        r#"{"link": "reduce_interference", "links": ["mean", {"link": "scale", "step_size": 0.1}], "lambda": 0.001, "relative": false}"#,
    ),
    (
        After,
        r#"{"link": "sam", "links": [{"link": "adam", "learning_rate": 0.1}], "adversary": [{"link": "sgd", "momentum": 0.5, "learning_rate": 0.05}]}"#,
    ),
    (
        After,
        r#"{"link": "sam", "links": [{"link": "adam", "learning_rate": 0.1}], "adversary": [{"link": "sgd", "momentum": 0.5, "learning_rate": 0.05}], "sync_period": 3, "reset_state": false}"#,
    ),
    (
        After,
        r#"{"link": "schedule_free", "links": [{"link": "sgd", "momentum": 0.5, "learning_rate": 0.1}], "learning_rate": 0.1}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "schedule_free_adamw", "weight_decay": 0.1}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "schedule_free_sgd", "learning_rate": {"schedule": "linear_schedule", "init_value": 0, "end_value": 0.5, "transition_steps": 2}}"#,
    ),
    (
        ReducesOrAfter,
        r#"{"link": "selective_transform", "links": [{"link": "adam", "learning_rate": 0.1}], "freeze_mask": {"not": {"matching": "w"}}}"#,
    ),
    (
        Anywhere,
        r#"{"link": "selective_transform", "links": "sign", "freeze_mask": {"matching": "v*"}}"#,
    ),
    (
        After,
        r#"{"link": "skip_large_updates", "links": [{"link": "trace", "decay": 0.9}], "max_squared_norm": 100}"#,
    ),
    (
        After,
        r#"{"link": "skip_not_finite", "links": [{"link": "trace", "decay": 0.9}]}"#,
    ),
];

pub(super) fn link(json: &str) -> LinkSpec {
    serde_json::from_str(json).unwrap()
}

pub(super) fn build(spec: &ChainSpec) -> Program {
    let chain = Catalogue::standard().build(spec).unwrap();
    chain.optimizer_program().unwrap()
}

/// Each sample at each place: before a mean, as the reduction, after a mean.
pub(super) fn chains() -> Vec<(ChainSpec, Program)> {
    let mut chains = Vec::new();
    for (stands, json) in SAMPLES.iter() {
        let (mean, link) = (LinkSpec::new("mean"), link(json));
        if matches!(stands, Anywhere | Before) {
            chains.push([link.clone(), mean.clone()].to_vec());
        }
        if matches!(stands, Reduces | ReducesOrAfter) {
            chains.push(vec![link.clone()]);
        }
        if matches!(stands, Anywhere | ReducesOrAfter | After) {
            chains.push(vec![mean, link]);
        }
    }
    let specs = chains.into_iter().map(|links| ChainSpec { links });
    specs.map(|spec| (spec.clone(), build(&spec))).collect()
}

#[test]
fn every_entry_of_the_catalogue_has_a_sample() {
    let sampled: Vec<_> = SAMPLES.iter().map(|(_, json)| link(json).link).collect();
    for entry in Catalogue::standard().entries() {
        assert!(
            sampled.iter().any(|name| name == entry.name),
            "{}",
            entry.name
        );
    }
}

#[test]
fn every_entry_asks_for_the_arguments_it_declares() {
    let catalogue = Catalogue::standard();
    for (_, json) in SAMPLES.iter() {
        let spec = link(json).with("no_such_argument", 1.0);
        let error = catalogue.link(&spec).unwrap_err();
        let entry = catalogue.get(&spec.link).unwrap();
        let mut known: Vec<_> = entry.arguments.iter().map(|a| a.name.to_owned()).collect();
        known.sort();
        let expected = pergrad_transforms::Error::UnknownArgument {
            link: spec.link.clone(),
            argument: "no_such_argument".to_owned(),
            known,
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn every_required_argument_is_missed() {
    let catalogue = Catalogue::standard();
    for (_, json) in SAMPLES.iter() {
        let full = link(json);
        for argument in catalogue.get(&full.link).unwrap().arguments {
            let mut spec = full.clone();
            spec.arguments.remove(argument.name);
            assert_eq!(
                catalogue.link(&spec).is_ok(),
                argument.default.is_some(),
                "{spec}"
            );
        }
    }
}

/// A number that is none makes no sense anywhere.
#[test]
fn no_argument_may_be_nan() {
    let catalogue = Catalogue::standard();
    for (stands, json) in SAMPLES.iter() {
        let full = link(json);
        for argument in catalogue.get(&full.link).unwrap().arguments {
            let is_number = |text: &str| text.parse::<f64>().is_ok();
            let given = full.arguments.get(argument.name);
            let number = given.is_some_and(|given| is_number(&given.to_string()))
                || given.is_none() && argument.default.is_some_and(is_number);
            if !number {
                continue;
            }
            let bad = full.clone().with(argument.name, f64::NAN);
            let mut links = vec![bad.clone()];
            if matches!(stands, Anywhere | Before | After) {
                links.insert(usize::from(*stands == Before), LinkSpec::new("mean"));
            }
            let refused = catalogue
                .build(&ChainSpec { links })
                .and_then(|chain| chain.optimizer_program());
            // What is not read, such as the factor of a mode that is off, is not checked either.
            let unread = argument.name == "smooth_beta";
            assert!(refused.is_err() || unread, "{bad}");
        }
    }
}
