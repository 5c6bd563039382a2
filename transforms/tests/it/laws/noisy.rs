//! Sample arguments for the links with noise, each with a seed: the same program then gives the same numbers.

/// After the reduction.
pub(super) const AFTER: &[&str] = &[
    r#"{"link": "add_gaussian_noise", "stddev": 0.25, "seed": 7}"#,
    r#"{"link": "add_gaussian_noise", "stddev": 0.25, "unit": 2, "seed": 7}"#,
    r#"{"link": "add_noise", "eta": 0.1, "gamma": 0.5, "seed": 7}"#,
];

/// Reductions.
pub(super) const REDUCES: &[&str] = &[
    r#"{"link": "differentially_private_aggregate", "clip_norm": 2, "noise_multiplier": 0.5, "expected_batch_size": 4, "seed": 7}"#,
    r#"{"link": "differentially_private_aggregate", "clip_norm": 2, "noise_multiplier": 0, "expected_batch_size": 4, "over": "leaves", "seed": 7}"#,
    r#"{"link": "differentially_private_aggregate", "clip_norm": 2, "noise_multiplier": 0.5, "expected_batch_size": 4, "over": "leaves_by_size", "drop_nonfinite": false, "seed": 7}"#,
    r#"{"link": "differentially_private_adaptive_aggregate", "noise_multiplier": 0.5, "expected_batch_size": 4, "initial_clip_norm": 2, "count_noise": 0.5, "seed": 7}"#,
    r#"{"link": "dpsgd", "learning_rate": 0.1, "clip_norm": 2, "noise_multiplier": 0.5, "expected_batch_size": 4, "momentum": 0.9, "seed": 7}"#,
];

/// Optimizers that take gradients of either axis.
pub(super) const OPTIMIZERS: &[&str] =
    &[r#"{"link": "noisy_sgd", "learning_rate": 0.1, "seed": 7}"#];
