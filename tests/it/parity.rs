//! The golden values of the Python libraries, in f64 and in f32: chains on the reference and on Flex, per-example gradients of
//! models on Flex, captured and one example at a time.
//!
//! The comparison itself is that of the example `parity`.

#[path = "../../examples/parity/compare.rs"]
mod compare;
#[path = "../../examples/parity/convert.rs"]
mod convert;
#[path = "../../examples/parity/different.rs"]
mod different;
#[path = "../../examples/parity/executors.rs"]
mod executors;
#[path = "../../examples/parity/golden.rs"]
mod golden;
#[path = "../../examples/parity/kept.rs"]
mod kept;
#[path = "../../examples/parity/leaves.rs"]
mod leaves;
#[path = "../../examples/parity/link.rs"]
mod link;
#[path = "../../examples/parity/measure.rs"]
mod measure;
#[path = "../../examples/parity/models/mod.rs"]
mod models;
#[path = "../../examples/parity/per_example.rs"]
mod per_example;
#[path = "../../examples/parity/report.rs"]
mod report;
#[path = "../../examples/parity/run.rs"]
mod run;
#[path = "../../examples/parity/schedule.rs"]
mod schedule;
#[path = "../../examples/parity/statistics.rs"]
mod statistics;

use std::path::Path;

use pergrad::transforms::Dtype;

use golden::File;
use report::Summary;

/// The counts of a file and what the unsupported cases lack, the same in f64 and f32. A failed case fails the test.
fn counts(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let file = File::parse(&text).unwrap();
    let [in_f64, in_f32] = [Dtype::F64, Dtype::F32].map(|dtype| {
        let (summary, failed) = run(&file, dtype);
        assert!(failed.is_empty(), "{}:\n{failed}", file.source);
        summary
    });
    assert_eq!(in_f64, in_f32);
    in_f64.to_string()
}

/// The counts, and the lines of the cases that failed.
fn run(file: &File, dtype: Dtype) -> (Summary, String) {
    let mut summary = Summary::default();
    let mut failed = String::new();
    for line in run::run(file, dtype) {
        let before = summary.failed;
        summary.add(&line);
        if summary.failed > before {
            failed.push_str(&line.to_string());
        }
    }
    (summary, failed)
}

#[test]
fn whole_optimizers_agree_with_optax() {
    insta::assert_snapshot!(counts("aggregated_aliases.json"), @"102 ok, 0 failed, 0 unsupported");
}

#[test]
fn single_transformations_agree_with_optax() {
    insta::assert_snapshot!(counts("aggregated_pieces.json"), @"98 ok, 0 failed, 0 unsupported");
}

#[test]
fn contributed_optimizers_agree_with_optax() {
    insta::assert_snapshot!(counts("aggregated_contrib.json"), @r"
    28 ok, 0 failed, 2 unsupported, 1 differ on purpose
        2 scale_by_lbfgs
          acprop differs: the library centers with the average before the step, the paper and later versions with the one after it
    ");
}

#[test]
fn wrappers_agree_with_optax() {
    insta::assert_snapshot!(counts("aggregated_wrappers.json"), @"46 ok, 0 failed, 0 unsupported");
}

#[test]
fn numbers_that_are_not_finite_agree_with_optax() {
    insta::assert_snapshot!(counts("aggregated_nonfinite.json"), @"13 ok, 0 failed, 0 unsupported");
}

#[test]
fn quirks_agree_with_optax_or_differ_on_purpose() {
    insta::assert_snapshot!(counts("aggregated_quirks.json"), @r"
    7 ok, 0 failed, 0 unsupported, 5 differ on purpose
          clip_by_global_norm_0_of_0 differs: zeros stay zeros, where the library divides 0 by 0
          multi_steps_nan_poisons differs: a NaN is gone with the mean it belongs to, where the library keeps it for ever
          apply_every_nan_poisons differs: a NaN is gone with the sum it belongs to, where the library keeps it for ever
          contrib_normalize_zero differs: zeros stay zeros, where the library divides 0 by 0
          radam_low_threshold differs: a threshold below 4 counts as 4, where the library takes the root of a negative number
    ");
}

#[test]
fn clipping_by_example_agrees_with_optax_and_jax_privacy() {
    insta::assert_snapshot!(counts("per_example_clip.json"), @r"
    38 ok, 0 failed, 1 unsupported
        1 vmap clip_by_block_rms
    ");
}

#[test]
fn chains_over_examples_agree_with_optax_and_numpy() {
    insta::assert_snapshot!(counts("per_example_chains.json"), @r"
    73 ok, 0 failed, 7 unsupported
        2 accumulate_mean over several micro-batches
        2 add_mean_variance_to_opt over several micro-batches
        1 elementwise signed_sqrt
        1 elementwise softsign
        1 vmap ema
    ");
}

#[test]
fn statistics_over_examples_agree_with_numpy_and_scipy() {
    insta::assert_snapshot!(counts("per_example_stats.json"), @"513 ok, 0 failed, 0 unsupported");
}

#[test]
fn schedules_agree_with_optax() {
    insta::assert_snapshot!(counts("schedules.json"), @r"
    42 ok, 0 failed, 1 unsupported
        1 polynomial_schedule
    ");
}

#[test]
fn dense_models_agree_with_jax() {
    insta::assert_snapshot!(counts("models_dense.json"), @"22 ok, 0 failed, 0 unsupported");
}

#[test]
fn convolutions_agree_with_jax() {
    insta::assert_snapshot!(counts("models_conv.json"), @"15 ok, 0 failed, 0 unsupported");
}

#[test]
fn embeddings_agree_with_jax() {
    insta::assert_snapshot!(counts("models_embedding.json"), @"6 ok, 0 failed, 0 unsupported");
}

#[test]
fn models_with_norms_agree_with_jax() {
    insta::assert_snapshot!(counts("models_norm.json"), @"7 ok, 0 failed, 0 unsupported");
}

#[test]
fn transformers_agree_with_jax() {
    insta::assert_snapshot!(counts("models_transformer.json"), @"6 ok, 0 failed, 0 unsupported");
}

/// A file with one step of SGD, or of whatever `transform` says, with the update `-0.5` and the parameter `end`.
fn one_step(transform: &str, end: f64) -> File {
    let text = format!(
        r#"{{"source": "by hand", "cases": [{{"name": "one_step", "dtype": "f64", "rtol": 1e-12, "atol": 0.0,
            "transform": {transform}, "params": {{"w": [1.0]}}, "grads": [{{"w": [5.0]}}], "updates": [{{"w": [-0.5]}}],
            "final_params": {{"w": [{end}]}}}}]}}"#
    );
    File::parse(&text).unwrap()
}

#[test]
fn a_wrong_number_fails_on_every_executor() {
    let sgd = |rate: f64| format!(r#"{{"kind": "sgd", "args": {{"learning_rate": {rate}}}}}"#);
    for dtype in [Dtype::F64, Dtype::F32] {
        let failed = |rate, end| run(&one_step(&sgd(rate), end), dtype).1;
        assert_eq!(failed(0.1, 0.5), "");
        for (rate, end) in [(0.1001, 0.5), (0.1, 0.5001)] {
            let lines = failed(rate, end);
            assert_eq!(lines.matches("FAIL").count(), 2, "{lines}");
        }
    }
}

#[test]
fn what_has_no_link_is_never_ok() {
    let transforms = [
        r#"{"kind": "no_such_optimizer", "args": {}}"#,
        r#"{"kind": "sgd", "args": {"learning_rate": 0.1, "no_such_argument": 1}}"#,
        r#"{"kind": "sgd", "args": {"learning_rate": {"schedule": {"kind": "no_such_schedule", "args": {}}}}}"#,
        r#"{"kind": "scale_by_adam", "args": {"b1": null}}"#,
        r#"{"kind": "scale_by_lion", "args": {"mode": "no_such_mode"}}"#,
        r#"{"kind": "elementwise", "args": {"fn": "no_such_function"}}"#,
        r#"{"kind": "differentially_private_aggregate", "args": {"l2_norm_clip": 1.0, "noise_multiplier": 1.0}}"#,
    ];
    for transform in transforms {
        let (summary, _) = run(&one_step(transform, 0.5), Dtype::F64);
        assert_eq!((summary.ok, summary.unsupported), (0, 1), "{transform}");
    }
}

/// A file with the model y = w x at w = 2, with the loss y, for the examples x = 1, 3.
fn one_model(kind: &str, args: &str, [output, loss, grad, squared_norm]: [f64; 4]) -> File {
    let text = format!(
        r#"{{"source": "by hand", "cases": [{{"name": "one_model", "dtype": "f64", "rtol": 1e-12, "atol": 0.0,
            "model": {{"kind": "{kind}", "args": {args}}}, "params": {{"fc1.weight": [[2.0]]}},
            "inputs": [[1.0], [3.0]], "targets": [[1.0], [1.0]], "outputs": [[2.0], [{output}]],
            "losses": [2.0, {loss}], "grads": {{"fc1.weight": [[[1.0]], [[{grad}]]]}},
            "squared_norms": [1.0, {squared_norm}]}}]}}"#
    );
    File::parse(&text).unwrap()
}

#[test]
fn a_wrong_number_of_a_model_fails_captured_and_looped() {
    let args = r#"{"activation": "identity", "loss": "inner_product"}"#;
    let right = [6.0, 6.0, 3.0, 9.0];
    for dtype in [Dtype::F64, Dtype::F32] {
        assert_eq!(run(&one_model("mlp", args, right), dtype).1, "");
        for wrong in 0..4 {
            let mut numbers = right;
            numbers[wrong] *= 1.001;
            let lines = run(&one_model("mlp", args, numbers), dtype).1;
            assert_eq!(lines.matches("FAIL").count(), 2, "{lines}");
        }
    }
}

#[test]
fn a_model_that_is_not_known_is_never_ok() {
    let mlp = r#"{"activation": "identity", "loss": "inner_product"}"#;
    let models = [
        ("no_such_model", mlp),
        (
            "mlp",
            r#"{"activation": "no_such_function", "loss": "inner_product"}"#,
        ),
        (
            "mlp",
            r#"{"activation": "identity", "loss": "no_such_loss"}"#,
        ),
        (
            "mlp",
            r#"{"activation": "identity", "loss": "inner_product", "no_such_argument": 1}"#,
        ),
        ("mlp", r#"{"loss": "inner_product"}"#),
    ];
    for (kind, args) in models {
        let file = one_model(kind, args, [6.0, 6.0, 3.0, 9.0]);
        let (summary, _) = run(&file, Dtype::F64);
        assert_eq!((summary.ok, summary.unsupported), (0, 1), "{kind} {args}");
    }
}
