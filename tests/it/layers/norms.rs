//! The normalizations over the last axis.

use burn::nn::{LayerNormConfig, RmsNormConfig};
use burn::tensor::{DType, Tensor};
use pergrad::nn::{LayerNorm, RmsNorm};
use pergrad::per_example_grads;

use super::{holds, is_burns, losses, randomized};
use crate::models::{assert_close, device, numbers, random};

fn layer_norms() -> [LayerNormConfig; 3] {
    let config = LayerNormConfig::new(5);
    [
        config.clone(),
        config.clone().with_bias(false),
        config.with_epsilon(0.3),
    ]
}

#[test]
fn layer_norm_captured_equals_one_example_at_a_time() {
    for config in layer_norms() {
        let layer = LayerNorm::new(&config, &device());
        holds(layer.clone(), [0, 5], LayerNorm::forward::<2>);
        holds(layer.clone(), [0, 1, 5], LayerNorm::forward::<3>);
        holds(layer, [0, 2, 3, 5], LayerNorm::forward::<4>);
    }
}

#[test]
fn layer_norm_is_burns() {
    for config in layer_norms() {
        let x = random([3, 2, 5], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x,
            burn::nn::LayerNorm::forward::<3>,
            LayerNorm::forward::<3>,
        );
    }
}

#[test]
fn rms_norm_captured_equals_one_example_at_a_time() {
    for config in [
        RmsNormConfig::new(5),
        RmsNormConfig::new(5).with_epsilon(0.3),
    ] {
        let layer = RmsNorm::new(&config, &device());
        holds(layer.clone(), [0, 5], RmsNorm::forward::<2>);
        holds(layer.clone(), [0, 1, 5], RmsNorm::forward::<3>);
        holds(layer, [0, 2, 3, 5], RmsNorm::forward::<4>);
    }
}

#[test]
fn rms_norm_is_burns() {
    let x = random([3, 2, 5], DType::F32, &device());
    is_burns(
        RmsNormConfig::new(5).with_epsilon(0.3).init(&device()),
        x,
        burn::nn::RmsNorm::forward::<3>,
        RmsNorm::forward::<3>,
    );
}

#[test]
fn half_precision_is_widened_as_burn_widens_it() {
    // 300^2 = 90 000 overflows f16 (65 504).
    let x = Tensor::<2>::from_floats(
        [[300.0, -300.0, 150.0, 10.0], [1.0, 2.0, 3.0, 4.0]],
        &device(),
    );
    let half = x.clone().cast(DType::F16);
    let layer = LayerNorm::new(&LayerNormConfig::new(4), &device());
    let layer = randomized(layer, DType::F32);
    let (wide_losses, wide) = per_example_grads(&layer, |m| losses(m.forward(x.clone()))).unwrap();
    let layer = crate::models::cast(layer, DType::F16);
    let (half_losses, narrow) = per_example_grads(&layer, |m| losses(m.forward(half))).unwrap();
    assert_close(&numbers(half_losses), &numbers(wide_losses), 1e-2);
    for path in ["gamma", "beta"] {
        let narrow = narrow.leaf::<2>(path).unwrap();
        assert_eq!(narrow.dtype(), DType::F16);
        assert_close(
            &numbers(narrow),
            &numbers(wide.leaf::<2>(path).unwrap()),
            1e-2,
        );
    }
}

#[test]
fn an_input_without_a_batch_axis_is_refused_by_name() {
    let x = random([5], DType::F32, &device());
    let layer = LayerNorm::new(&LayerNormConfig::new(5), &device());
    let error = per_example_grads(&layer, |m| losses(m.forward(x).unsqueeze::<2>())).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`LayerNorm` got an input of rank 1")
    );
}
