//! The normalizations over the last axis.

use burn::nn::{GroupNormConfig, InstanceNormConfig, LayerNormConfig, RmsNormConfig};
use burn::tensor::{DType, Tensor};
use pergrad::nn::{GroupNorm, InstanceNorm, LayerNorm, RmsNorm};
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

/// The captured gradients of a layer in f16 are those in f32, for activations whose squares overflow f16.
#[track_caller]
fn half_is_widened<M: burn::module::Module>(
    layer: M,
    forward: impl Fn(&M, Tensor<3>) -> Tensor<3>,
) {
    // 300^2 = 90 000 overflows f16 (65 504).
    let rows = [[[300.0, -300.0], [150.0, 10.0]], [[1.0, 2.0], [3.0, 5.0]]];
    let x = Tensor::<3>::from_floats(rows, &device());
    let layer = randomized(layer, DType::F32);
    let wide = per_example_grads(&layer, |m| losses(forward(m, x.clone()))).unwrap();
    let layer = crate::models::cast(layer, DType::F16);
    let half = x.cast(DType::F16);
    let narrow = per_example_grads(&layer, |m| losses(forward(m, half))).unwrap();
    assert_close(&numbers(narrow.0), &numbers(wide.0), 1e-2);
    for path in wide.1.paths() {
        let [wide, narrow] = [&wide.1, &narrow.1].map(|g| g.leaf::<2>(path).unwrap());
        // The sums over the tokens stay in the type in which they were added up.
        assert_eq!(narrow.dtype(), DType::F32);
        assert_close(&numbers(narrow), &numbers(wide), 1e-2);
    }
}

#[test]
fn half_precision_is_widened_as_burn_widens_it() {
    let device = &device();
    half_is_widened(
        LayerNorm::new(&LayerNormConfig::new(2), device),
        LayerNorm::forward::<3>,
    );
    half_is_widened(
        RmsNorm::new(&RmsNormConfig::new(2), device),
        RmsNorm::forward::<3>,
    );
    half_is_widened(
        GroupNorm::new(&GroupNormConfig::new(1, 2), device),
        GroupNorm::forward::<3>,
    );
    half_is_widened(
        InstanceNorm::new(&InstanceNormConfig::new(2), device),
        InstanceNorm::forward::<3>,
    );
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
