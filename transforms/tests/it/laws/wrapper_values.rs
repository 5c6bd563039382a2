//! The third part of [`values`](super::values): links around links.

use super::values::assert_steps;

/// Momentum of 0.9 gives `[3, -1]` and `[2.6, -0.7]`.
const TRACE: &str = r#"[{"link": "trace", "decay": 0.9}]"#;

/// After a mean, a wrapper of this name with `"links"` and other arguments.
fn wrapped(name: &str, links: &str, arguments: &str, expected: [[f64; 2]; 2]) {
    let json = format!(r#""mean" | {{"link": "{name}", "links": {links}{arguments}}}"#);
    assert_steps(&json, expected);
}

pub(super) fn all() {
    selections();
    guards();
    counts();
    parameters();
    weighted_means();
}

fn selections() {
    let sign = [[1.0, -1.0], [-1.0, 1.0]];
    wrapped(
        "masked",
        r#"["sign"]"#,
        r#", "leaves": {"matching": "w"}"#,
        sign,
    );
    wrapped(
        "masked",
        r#"["sign"]"#,
        r#", "leaves": false"#,
        [[3.0, -1.0], [-0.1, 0.2]],
    );
    wrapped(
        "selective_transform",
        r#""sign""#,
        r#", "freeze_mask": false"#,
        sign,
    );
    wrapped(
        "selective_transform",
        r#""sign""#,
        r#", "freeze_mask": true"#,
        [[0.0; 2]; 2],
    );
    assert_steps(
        r#""mean" | {"link": "partition", "parts": [{"leaves": {"matching": "w"}, "links": ["sign"]},
            {"leaves": "all", "links": ["set_to_zero"]}]}"#,
        sign,
    );
    assert_steps(
        r#""mean" | {"link": "freeze", "leaves": {"matching": "w"}}"#,
        [[0.0; 2]; 2],
    );
    assert_steps(
        r#""mean" | {"link": "freeze", "leaves": {"not": {"matching": "w"}}}"#,
        [[3.0, -1.0], [-0.1, 0.2]],
    );
    let root = 10_f64.sqrt();
    wrapped(
        "flatten",
        r#"{"link": "clip_by_global_norm", "max_norm": 1}"#,
        "",
        [[3.0 / root, -1.0 / root], [-0.1, 0.2]],
    );
}

fn guards() {
    let trace = [[3.0, -1.0], [2.6, -0.7]];
    wrapped(
        "apply_if_finite",
        TRACE,
        r#", "max_consecutive_errors": 2"#,
        trace,
    );
    wrapped("skip_not_finite", TRACE, "", trace);
    // The squared norms are 10 and 0.05.
    wrapped(
        "skip_large_updates",
        TRACE,
        r#", "max_squared_norm": 5"#,
        [[0.0, 0.0], [-0.1, 0.2]],
    );
    let double = r#"[{"link": "scale", "step_size": 2}]"#;
    wrapped(
        "conditionally_transform",
        double,
        r#", "condition": {"step_lt": 1}"#,
        [[6.0, -2.0], [-0.1, 0.2]],
    );
    wrapped(
        "conditionally_transform",
        double,
        r#", "condition": {"step_ge": 1}"#,
        [[3.0, -1.0], [-0.2, 0.4]],
    );
    wrapped(
        "conditionally_mask",
        TRACE,
        r#", "condition": {"step_multiple_of": 2}"#,
        [[3.0, -1.0], [0.0, 0.0]],
    );
    // The value is 1 at both steps, so the second is no better.
    assert_steps(
        r#""mean" | {"link": "reduce_on_plateau", "factor": 0.5, "patience": 1}"#,
        [[3.0, -1.0], [-0.05, 0.1]],
    );
}

fn counts() {
    let down = r#"[{"link": "scale", "step_size": -1}]"#;
    wrapped(
        "accumulate",
        down,
        r#", "every_k": 2"#,
        [[0.0, 0.0], [-1.45, 0.4]],
    );
    wrapped(
        "accumulate",
        down,
        r#", "every_k": 2, "use_grad_mean": false"#,
        [[0.0, 0.0], [-2.9, 0.8]],
    );
    // The first micro-batch is thrown away, and the second is not enough.
    wrapped(
        "accumulate",
        down,
        r#", "every_k": 2, "skip_larger_than": 5, "skip_not_finite": true"#,
        [[0.0; 2]; 2],
    );
}

/// The parameters are `[2, -1]` at both steps, whatever the updates were.
fn parameters() {
    let descent = r#"[{"link": "scale", "step_size": -0.1}]"#;
    wrapped(
        "lookahead",
        descent,
        r#", "sync_period": 2, "slow_step_size": 0.5"#,
        [[-0.3, 0.1], [0.005, -0.01]],
    );
    wrapped(
        "sam",
        descent,
        r#", "adversary": [{"link": "scale", "step_size": -0.5}]"#,
        [[1.5, -0.5], [0.01, -0.02]],
    );
    wrapped(
        "mechanize",
        r#"[{"link": "scale", "step_size": -1}]"#,
        "",
        [[-3e-6, 1e-6], [1e-7, -2e-7]],
    );
    // The second step has half the weight; z has come to [1.7, -0.9].
    let averaged = [[-0.3, 0.1], [-0.15 + 0.0055, 0.05 - 0.011]];
    wrapped(
        "schedule_free",
        descent,
        r#", "learning_rate": 0.1"#,
        averaged,
    );
    assert_steps(
        r#"{"link": "schedule_free_sgd", "learning_rate": 0.1}"#,
        averaged,
    );
    assert_steps(
        r#"{"link": "schedule_free_adamw", "learning_rate": 0.1}"#,
        {
            let eps = 1e-8;
            let first = [-0.1 * 3.0 / (3.0 + eps), 0.1 / (1.0 + eps)];
            let root = |first: f64, second: f64| {
                ((0.000_999 * first + 0.001 * second) / 0.001_999).sqrt() + eps
            };
            let second = [0.01 / root(9.0, 0.01), -0.02 / root(1.0, 0.04)];
            [first, [0, 1].map(|p| 0.5 * first[p] + 0.55 * second[p])]
        },
    );
}

/// Reductions that weigh the examples.
fn weighted_means() {
    let (near, far) = (1.0 / 2_f64.sqrt(), 1.0 / 13_f64.sqrt());
    let sum = near + 2.0 * far;
    assert_steps(
        r#"{"link": "geometric_median", "iterations": 1}"#,
        [
            [(7.0 * far + 2.0 * near) / sum, -3.0 * far / sum],
            [-0.06, 0.12],
        ],
    );
    // No example is in conflict with another one.
    assert_steps(r#""project_conflicts""#, [[3.0, -1.0], [-0.1, 0.2]]);
    assert_steps(r#""upgrad""#, [[3.0, -1.0], [-0.1, 0.2]]);
    assert_steps(r#""least_harm""#, [[3.0, -1.0], [-0.1, 0.2]]);
    // Uphill by a tenth of the sum: each example is harmed, and taken off as often as it may be.
    assert_steps(
        r#"{"link": "reduce_interference", "links": ["sum", {"link": "scale", "step_size": 0.1}], "lambda": 0.01, "relative": false}"#,
        [[0.81, -0.27], [-0.027, 0.054]],
    );
    assert_steps(
        r#"{"link": "scale_by_past_rms", "decay": 0.9} | "mean""#,
        [[3.0, -1.0], [-0.1 / (3.0 + 1e-8), 0.2 / (1.0 + 1e-8)]],
    );
}
