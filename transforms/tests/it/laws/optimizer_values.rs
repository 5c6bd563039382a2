//! The second half of [`values`](super::values): links with state, and whole optimizers.

use super::values::assert_steps;

/// The default of every Adam.
const EPS: f64 = 1e-8;

pub(super) fn aggregated() {
    assert_steps(
        r#""mean" | {"link": "add_decayed_weights", "weight_decay": 0.1}"#,
        [[3.2, -1.1], [0.1, 0.1]],
    );
    let root = 10_f64.sqrt();
    assert_steps(
        r#""mean" | {"link": "clip_by_global_norm", "max_norm": 1}"#,
        [[3.0 / root, -1.0 / root], [-0.1, 0.2]],
    );
    let m = [0.27 - 0.01, -0.09 + 0.02]; // the average after two steps, not debiased
    assert_steps(
        r#""mean" | {"link": "ema", "decay": 0.9}"#,
        [[3.0, -1.0], [m[0] / 0.19, m[1] / 0.19]],
    );
    assert_steps(
        r#""mean" | {"link": "ema", "decay": 0.9, "debias": false}"#,
        [[0.3, -0.1], m],
    );
    assert_steps(
        r#""mean" | "scale_by_adam""#,
        [[3.0 / (3.0 + EPS), -1.0 / (1.0 + EPS)], adam_2()],
    );
    assert_steps(
        r#""mean" | {"link": "scale_by_learning_rate", "learning_rate": 0.1}"#,
        [[-0.3, 0.1], [0.01, -0.02]],
    );
    // The momentum outweighs the second gradient in the first parameter.
    assert_steps(r#""mean" | "scale_by_lion""#, [[1.0, -1.0], [1.0, 1.0]]);
    assert_steps(
        r#""mean" | {"link": "trace", "decay": 0.9}"#,
        [[3.0, -1.0], [2.6, -0.7]],
    );
    assert_steps(
        r#""mean" | {"link": "trace", "decay": 0.9, "nesterov": true}"#,
        [[5.7, -1.9], [-0.1 + 0.9 * 2.6, 0.2 - 0.9 * 0.7]],
    );
}

/// Links that optimizers are made of.
pub(super) fn parts() {
    assert_steps(
        r#""mean" | {"link": "apply_every", "k": 2}"#,
        [[0.0, 0.0], [2.9, -0.8]],
    );
    assert_steps(
        r#""mean" | {"link": "bias_correction", "decay": 0.9}"#,
        [[30.0, -10.0], [-0.1 / 0.19, 0.2 / 0.19]],
    );
    assert_steps(r#""mean" | "running_sum""#, [[3.0, -1.0], [2.9, -0.8]]);
    assert_steps(r#""mean" | "running_max""#, [[3.0, 0.0], [3.0, 0.2]]);
    let (root, small) = (10_f64.sqrt(), 0.05_f64.sqrt());
    assert_steps(
        r#""mean" | "normalize""#,
        [[3.0 / root, -1.0 / root], [-0.1 / small, 0.2 / small]],
    );
    assert_steps(r#""mean" | "set_to_zero""#, [[0.0, 0.0], [0.0, 0.0]]);
    // The average begins with 1, which nothing takes out.
    assert_steps(
        r#""mean" | {"link": "ema", "decay": 0.9, "debias": false, "init": 1}"#,
        [[1.2, 0.8], [1.07, 0.74]],
    );
    // A vector is one row, so X X^T X is X times its squared norm, which is 1.
    let orthogonal = |x: f64| (3.4445 - 4.775 + 2.0315) * x;
    assert_steps(
        r#""mean" | {"link": "scale_by_muon", "ns_steps": 1, "beta": 0, "eps": 0}"#,
        [
            [orthogonal(3.0 / root), orthogonal(-1.0 / root)],
            [orthogonal(-0.1 / small), orthogonal(0.2 / small)],
        ],
    );
}

/// Options of the links above.
pub(super) fn options() {
    let (g, g2, m) = ([3.0, -1.0], [-0.1, 0.2], [0.26, -0.07]);
    let both = |f: fn(f64, f64, f64) -> [f64; 2]| {
        let steps = [0, 1].map(|p| f(g[p], g2[p], m[p]));
        [[steps[0][0], steps[1][0]], [steps[0][1], steps[1][1]]]
    };
    assert_steps(
        r#""mean" | {"link": "ema", "decay": 0.9, "nesterov": true}"#,
        both(|g, g2, m| [g * (0.09 / 0.19 + 1.0), 0.9 * m / 0.271 + 0.1 * g2 / 0.19]),
    );
    assert_steps(
        r#""mean" | {"link": "ema", "decay": 0.9, "debias": false, "nesterov": true}"#,
        both(|g, g2, m| [0.19 * g, 0.9 * m + 0.1 * g2]),
    );
    let root = |g: f64, v: f64| g / (v + 0.25_f64).sqrt();
    assert_steps(
        r#""mean" | {"link": "scale_by_adam", "b1": 0, "b2": 0, "eps": 0, "eps_root": 0.25}"#,
        [
            [root(3.0, 9.0), root(-1.0, 1.0)],
            [root(-0.1, 0.01), root(0.2, 0.04)],
        ],
    );
    assert_steps(
        r#""mean" | {"link": "scale_by_learning_rate", "learning_rate": 0.1, "flip_sign": false}"#,
        [[0.3, -0.1], [-0.01, 0.02]],
    );
    assert_steps(
        r#"{"link": "sgd", "learning_rate": 0.1, "momentum": 0.9, "nesterov": true}"#,
        [[-0.57, 0.19], [-0.224, 0.043]],
    );
    let norms = [17_f64, 37.0, 0.45].map(|n| n.sqrt() + 0.5);
    assert_steps(
        r#"{"link": "normalize_per_example", "eps": 0.5} | "sum""#,
        [
            [
                1.0 / norms[0] + 2.0 / 2.5 + 6.0 / norms[1],
                -4.0 / norms[0] + 1.0 / norms[1],
            ],
            [-0.3 / norms[2], 0.6 / norms[2]],
        ],
    );
    // With so short a memory the second gradient outweighs the first.
    assert_steps(
        r#"{"link": "sign_ema", "learning_rate": 0.1, "beta": 0.01}"#,
        [[-0.1, 0.1], [0.1, -0.1]],
    );
}

/// `m / (sqrt(v) + eps)` for debiased averages after two steps, given the second moments of both steps.
fn second_step(first: [f64; 2], second: [f64; 2]) -> [f64; 2] {
    let m = [0.26 / 0.19, -0.07 / 0.19];
    [0, 1].map(|p| {
        let v = (0.000_999 * first[p] + 0.001 * second[p]) / 0.001_999;
        m[p] / (v.max(0.0).sqrt() + EPS)
    })
}

fn adam_2() -> [f64; 2] {
    second_step([9.0, 1.0], [0.01, 0.04])
}

pub(super) fn optimizers() {
    let steps = |first: [f64; 2], second: [f64; 2]| {
        [
            [
                3.0 / (first[0].sqrt() + EPS),
                -1.0 / (first[1].sqrt() + EPS),
            ],
            second_step(first, second),
        ]
        .map(|u| u.map(|x| -0.1 * x))
    };
    assert_steps(
        r#"{"link": "adam", "learning_rate": 0.1, "eps": 1e-8}"#,
        steps([9.0, 1.0], [0.01, 0.04]),
    );
    assert_steps(
        r#"{"link": "adamw", "learning_rate": 0.1, "weight_decay": 0.5}"#,
        {
            let adam = steps([9.0, 1.0], [0.01, 0.04]);
            adam.map(|u| [u[0] - 0.1 * 0.5 * 2.0, u[1] + 0.1 * 0.5 * 1.0])
        },
    );
    assert_steps(
        r#"{"link": "lion", "learning_rate": 0.1, "weight_decay": 0.5}"#,
        [[-0.2, 0.15], [-0.2, -0.05]],
    );
    assert_steps(
        r#"{"link": "micro_adam", "learning_rate": 0.1}"#,
        steps([41.0 / 3.0, 17.0 / 3.0], [0.03, 0.12]),
    );
    assert_steps(
        r#"{"link": "micro_adam_var", "learning_rate": 0.1}"#,
        steps([7.0, 7.0], [0.03, 0.12]),
    );
    // The second estimate of both steps is 1 - 7/3 and 0: below 0 on average, so 0, and eps is left.
    assert_steps(r#"{"link": "micro_adam_msq", "learning_rate": 0.1}"#, {
        let first = [-0.1 * 3.0 / ((20.0_f64 / 3.0).sqrt() + EPS), 0.1 / EPS];
        [
            first,
            second_step([20.0 / 3.0, -4.0 / 3.0], [0.0, 0.0]).map(|x| -0.1 * x),
        ]
    });
    assert_steps(
        r#"{"link": "adam_interpolation", "learning_rate": 0.1, "a": 1, "c": 0.5}"#,
        steps([20.0 / 3.0 + 3.5, -4.0 / 3.0 + 3.5], [0.015, 0.06]),
    );
    assert_steps(
        r#"{"link": "adam_with_second_moment", "learning_rate": 0.1, "statistic": ["square", "max"]}"#,
        steps([36.0, 16.0], [0.09, 0.36]),
    );
    assert_steps(
        r#"{"link": "micro_sign_sgd", "learning_rate": 0.1}"#,
        [[-0.01, 0.0], [-0.009 + 0.01 / 3.0, -0.01 / 3.0]],
    );
    // The mean of the squares is [41/3, 17/3], then [0.03, 0.12].
    let (g, g2) = ([3.0, -1.0], [-0.1, 0.2]);
    let (q, q2): ([f64; 2], [f64; 2]) = ([41.0 / 3.0, 17.0 / 3.0], [0.03_f64, 0.12]);
    let step = |g: [f64; 2], root: [f64; 2]| [0, 1].map(|p| -0.1 * g[p] / root[p]);
    assert_steps(
        r#"{"link": "rmsprop_with_second_moment", "learning_rate": 0.1, "statistic": ["square", "mean"], "eps": 0}"#,
        [
            step(g, q.map(|q| (0.1 * q).sqrt())),
            step(g2, [0, 1].map(|p| (0.09 * q[p] + 0.1 * q2[p]).sqrt())),
        ],
    );
    assert_steps(
        r#"{"link": "adagrad_with_second_moment", "learning_rate": 0.1, "statistic": ["square", "mean"], "eps": 0}"#,
        [
            step(g, q.map(|q| (0.1 + q).sqrt())),
            step(g2, [0, 1].map(|p| (0.1 + q[p] + q2[p]).sqrt())),
        ],
    );
    let m = [0.26 / 0.19, -0.07 / 0.19];
    assert_steps(
        r#"{"link": "amsgrad_with_second_moment", "learning_rate": 0.1, "statistic": ["square", "mean"], "eps": 0}"#,
        [step(g, q.map(f64::sqrt)), step(m, q.map(f64::sqrt))],
    );
    // The first curvature is 0, so the clip decides; the second is a hundredth of the mean of the squares.
    assert_steps(
        r#"{"link": "sophia_with_curvature", "learning_rate": 0.1, "statistic": ["square", "mean"], "b1": 0.9, "gamma": 1, "clip_threshold": 15, "weight_decay": 0.5}"#,
        [
            [-1.5 - 0.1, 1.5 + 0.05],
            [
                -0.1 * (m[0] / (0.01 * q[0])) - 0.1,
                -0.1 * (m[1] / (0.01 * q[1])) + 0.05,
            ],
        ],
    );
    assert_steps(
        r#"{"link": "sgd", "learning_rate": 0.1}"#,
        [[-0.3, 0.1], [0.01, -0.02]],
    );
    assert_steps(
        r#"{"link": "sgd", "learning_rate": 0.1, "momentum": 0.9}"#,
        [[-0.3, 0.1], [-0.26, 0.07]],
    );
    assert_steps(
        r#"{"link": "sign_ema", "learning_rate": 0.1}"#,
        [[-0.1, 0.1], [-0.1, 0.1]],
    );
    assert_steps(
        r#"{"link": "signum", "learning_rate": 0.1}"#,
        [[-0.1, 0.1], [-0.1, 0.1]],
    );
    assert_steps(
        r#"{"link": "sign_sgd", "learning_rate": 0.1}"#,
        [[-0.1, 0.1], [0.1, -0.1]],
    );
    assert_steps(
        r#"{"link": "sign_sgd", "learning_rate": 0.1, "beta": 0.9}"#,
        [[-0.01, 0.01], [0.001, -0.001]],
    );
}
