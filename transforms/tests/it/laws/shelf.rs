//! Sample arguments for the links that follow optax's shelf, and what each of its optimizers is a chain of.

/// Links that may stand before and after the reduction.
pub(super) const ANYWHERE: &[&str] = &[
    r#"{"link": "scale_by_schedule", "step_size_fn": {"schedule": "polynomial_schedule", "init_value": 1, "end_value": 0, "power": 2, "transition_steps": 4}}"#,
    r#""scale_by_sign""#,
    r#""centralize""#,
    r#""scale_by_param_block_norm""#,
    r#"{"link": "scale_by_param_block_rms", "min_scale": 0.5}"#,
    r#""set_to_zero""#,
];

/// Links that stand after the reduction. Muon has one iteration: each takes small singular values, and their rounding, 3.4 times as large.
pub(super) const AFTER: &[&str] = &[
    r#"{"link": "adaptive_grad_clip", "clipping": 0.5}"#,
    r#"{"link": "adaptive_grad_clip", "clipping": 0.5, "axis": [1]}"#,
    r#"{"link": "apply_every", "k": 2}"#,
    r#"{"link": "bias_correction", "decay": 0.9}"#,
    r#"{"link": "clip_by_block_rms", "threshold": 1}"#,
    r#"{"link": "ema", "decay": 0.9, "init": 0.5}"#,
    r#""keep_params_nonnegative""#,
    r#""normalize""#,
    r#""normalize_by_update_norm""#,
    r#""running_max""#,
    r#"{"link": "running_sum", "init": 1}"#,
    r#""scale_by_acprop""#,
    r#""scale_by_adadelta""#,
    r#""scale_by_adamax""#,
    r#""scale_by_adan""#,
    r#"{"link": "scale_by_ademamix", "b3": 0.99}"#,
    r#""scale_by_adopt""#,
    r#"{"link": "scale_by_adopt", "nesterov": true, "use_clipping": false}"#,
    r#""scale_by_amsgrad""#,
    r#"{"link": "scale_by_amsgrad", "max_of_raw": true, "eps_root": 0.01}"#,
    r#""scale_by_belief""#,
    r#"{"link": "scale_by_belief", "nesterov": true}"#,
    r#""scale_by_cocob""#,
    r#""scale_by_distance_over_gradients""#,
    r#""scale_by_dog""#,
    r#"{"link": "scale_by_dog", "init_step": "distance"}"#,
    r#"{"link": "scale_by_dog", "init_step": "learning_rate", "init_value": 0.1}"#,
    r#""scale_by_dowg""#,
    r#""scale_by_factored_rms""#,
    r#"{"link": "scale_by_factored_rms", "min_dim_size_to_factor": 2}"#,
    r#"{"link": "scale_by_lion", "mode": "smooth", "smooth_beta": 2}"#,
    r#"{"link": "scale_by_lion", "mode": "refined"}"#,
    r#"{"link": "scale_by_madgrad", "learning_rate": 0.1}"#,
    r#"{"link": "scale_by_muon", "ns_steps": 1}"#,
    r#"{"link": "scale_by_muon", "ns_steps": 1, "nesterov": false, "adaptive": true, "consistent_rms": 0.2}"#,
    r#""scale_by_novograd""#,
    r#""scale_by_optimistic_gradient""#,
    r#""scale_by_polyak""#,
    r#"{"link": "scale_by_polyak", "variant": "sps+", "f_min": 0.5}"#,
    r#""scale_by_radam""#,
    r#"{"link": "scale_by_radam", "b2": 0.9, "nesterov": true}"#,
    r#""scale_by_rms""#,
    r#"{"link": "scale_by_rms", "eps_in_sqrt": false, "bias_correction": true}"#,
    r#"{"link": "scale_by_rprop", "learning_rate": 0.1}"#,
    r#"{"link": "scale_by_rprop", "learning_rate": 0.1, "late": true}"#,
    r#""scale_by_rss""#,
    r#""scale_by_simplified_ademamix""#,
    r#""scale_by_sm3""#,
    r#"{"link": "scale_by_stddev", "eps": 0.01}"#,
    r#"{"link": "scale_by_stddev", "eps": 1, "bias_correction": true}"#,
    r#""scale_by_trust_ratio""#,
    r#"{"link": "scale_by_trust_ratio", "mask": {"matching": "v*"}}"#,
    r#""scale_by_yogi""#,
];

/// Optimizers that need the examples apart.
pub(super) const REDUCES: &[&str] = &[
    r#"{"link": "adagrad_with_second_moment", "learning_rate": 0.1, "statistic": ["square", "mean"]}"#,
    r#"{"link": "amsgrad_with_second_moment", "learning_rate": 0.1, "statistic": ["square", "median"]}"#,
    r#"{"link": "rmsprop_with_second_moment", "learning_rate": 0.1, "statistic": "unbiased_square_of_mean", "eps": 0.1}"#,
    r#"{"link": "sophia_with_curvature", "learning_rate": 0.1, "statistic": ["square", "mean"], "gamma": 1}"#,
];

/// Optimizers, each with the chain that it is short for; nothing where it is more than a chain of links.
pub(super) const OPTIMIZERS: &[(&str, &str)] = &[
    (
        r#"{"link": "acprop", "learning_rate": 0.1, "weight_decay": 0.1}"#,
        r#"["batch_mean", "scale_by_acprop", {"link": "add_decayed_weights", "weight_decay": 0.1}, {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "adabelief", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_belief", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "adadelta", "weight_decay": 0.1}"#,
        r#"["batch_mean", {"link": "add_decayed_weights", "weight_decay": 0.1}, "scale_by_adadelta", {"link": "scale_by_learning_rate", "learning_rate": 1}]"#,
    ),
    (
        r#"{"link": "adafactor", "learning_rate": 0.1, "min_dim_size_to_factor": 2, "momentum": 0.9, "weight_decay_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_factored_rms", "min_dim_size_to_factor": 2}, {"link": "clip_by_block_rms", "threshold": 1},
            {"link": "scale", "step_size": 0.1}, "scale_by_param_block_rms", {"link": "ema", "decay": 0.9, "debias": false},
            {"link": "add_decayed_weights", "weight_decay": 0.1}, {"link": "scale", "step_size": -1}]"#,
    ),
    (
        r#"{"link": "adagrad", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_rss", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "adamax", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_adamax", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "adamaxw", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_adamax", {"link": "add_decayed_weights", "weight_decay": 1e-4}, {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "adan", "learning_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_adan", "eps_root": 1e-8}, {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "ademamix", "learning_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_ademamix", "alpha": 5}, {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "adopt", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_adopt", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "amsgrad", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_amsgrad", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "cocob", "weight_decay": 0.1}"#,
        r#"["batch_mean", {"link": "add_decayed_weights", "weight_decay": 0.1}, "scale_by_cocob"]"#,
    ),
    (r#""dadapt_adamw""#, ""),
    (
        r#"{"link": "dog", "weight_decay": 0.1, "init_step": "distance", "init_value": 0.1}"#,
        r#"["batch_mean", {"link": "add_decayed_weights", "weight_decay": 0.1}, {"link": "scale_by_dog", "init_step": "distance", "init_value": 0.1},
            {"link": "scale", "step_size": -1}]"#,
    ),
    (
        r#""dowg""#,
        r#"["batch_mean", "scale_by_dowg", {"link": "scale", "step_size": -1}]"#,
    ),
    (r#"{"link": "fromage", "learning_rate": 0.1}"#, ""),
    (
        r#"{"link": "lamb", "learning_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_adam", "eps": 1e-6}, "scale_by_trust_ratio", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "lars", "learning_rate": 0.1, "weight_decay": 0.1}"#,
        r#"["batch_mean", {"link": "add_decayed_weights", "weight_decay": 0.1}, {"link": "scale_by_trust_ratio", "trust_coefficient": 0.001},
            {"link": "scale_by_learning_rate", "learning_rate": 0.1}, {"link": "trace", "decay": 0.9}]"#,
    ),
    (
        r#"{"link": "lion", "learning_rate": 0.1, "mode": "smooth"}"#,
        r#"["batch_mean", {"link": "scale_by_lion", "mode": "smooth"}, {"link": "add_decayed_weights", "weight_decay": 0.001},
            {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "madgrad", "learning_rate": 0.1, "weight_decay": 0.1}"#,
        r#"["batch_mean", {"link": "add_decayed_weights", "weight_decay": 0.1}, {"link": "scale_by_madgrad", "learning_rate": 0.1}]"#,
    ),
    (r#""momo""#, ""),
    (
        r#"{"link": "momo", "adapt_lower_bound": true, "weight_decay": 0.1}"#,
        "",
    ),
    (r#""momo_adam""#, ""),
    (
        r#"{"link": "momo_adam", "adapt_lower_bound": true, "weight_decay": 0.1}"#,
        "",
    ),
    (
        r#"{"link": "muon", "learning_rate": 0.1, "ns_steps": 1, "weight_decay": 0.1, "adam_weight_decay": 0.1, "adam_learning_rate": 0.2}"#,
        "",
    ),
    (
        r#"{"link": "nadam", "learning_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_adam", "nesterov": true}, {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "nadamw", "learning_rate": 0.1, "mask": {"rank_at_least": 2}}"#,
        r#"["batch_mean", {"link": "scale_by_adam", "nesterov": true}, {"link": "add_decayed_weights", "weight_decay": 1e-4, "mask": {"rank_at_least": 2}},
            {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "novograd", "learning_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_novograd", "eps": 1e-6}, {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "optimistic_adam_v2", "learning_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_adam", "nesterov": true}, "scale_by_optimistic_gradient", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "optimistic_gradient_descent", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_optimistic_gradient", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "polyak_sgd", "scaling": 0.5}"#,
        r#"["batch_mean", {"link": "scale_by_learning_rate", "learning_rate": 0.5}, "scale_by_polyak"]"#,
    ),
    (r#""prodigy""#, ""),
    (
        r#"{"link": "prodigy", "beta3": 0.9, "safeguard_warmup": true}"#,
        "",
    ),
    (
        r#"{"link": "radam", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_radam", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "rmsprop", "learning_rate": 0.1, "momentum": 0.9}"#,
        r#"["batch_mean", "scale_by_rms", {"link": "scale_by_learning_rate", "learning_rate": 0.1}, {"link": "trace", "decay": 0.9}]"#,
    ),
    (
        r#"{"link": "rmsprop", "learning_rate": 0.1, "centered": true, "eps": 0.01}"#,
        r#"["batch_mean", {"link": "scale_by_stddev", "eps": 0.01}, {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "rprop", "learning_rate": 0.1}"#,
        r#"["batch_mean", {"link": "scale_by_rprop", "learning_rate": 0.1}, {"link": "scale", "step_size": -1}]"#,
    ),
    (
        r#"{"link": "simplified_ademamix", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_simplified_ademamix", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "sm3", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_sm3", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
    (
        r#"{"link": "yogi", "learning_rate": 0.1}"#,
        r#"["batch_mean", "scale_by_yogi", {"link": "scale_by_learning_rate", "learning_rate": 0.1}]"#,
    ),
];
