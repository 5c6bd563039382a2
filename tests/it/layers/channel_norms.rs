//! The normalizations with the channels on axis 1.

use burn::module::{Module, Param, RunningState};
use burn::nn::{BatchNormConfig, GroupNormConfig, InstanceNormConfig};
use burn::tensor::{DType, Tensor};
use pergrad::nn::{BatchNorm, GroupNorm, InstanceNorm};
use pergrad::{Error, per_example_grads};

use super::{holds, is_burns, losses};
use crate::models::{device, numbers, random};

fn group_norms() -> [GroupNormConfig; 4] {
    [
        GroupNormConfig::new(2, 4),
        GroupNormConfig::new(1, 4).with_epsilon(0.3),
        GroupNormConfig::new(4, 4),
        GroupNormConfig::new(2, 4).with_affine(false),
    ]
}

#[test]
fn group_norm_captured_equals_one_example_at_a_time() {
    for config in group_norms() {
        let layer = GroupNorm::new(&config, &device());
        holds(layer.clone(), [0, 4, 3], GroupNorm::forward::<3>);
        holds(layer.clone(), [0, 4, 1], GroupNorm::forward::<3>);
        holds(layer, [0, 4, 3, 2], GroupNorm::forward::<4>);
    }
}

#[test]
fn group_norm_is_burns() {
    for config in &group_norms()[..3] {
        let x = random([3, 4, 3], DType::F32, &device());
        let burn = config.init(&device());
        is_burns(
            burn,
            x,
            burn::nn::GroupNorm::forward::<3>,
            GroupNorm::forward::<3>,
        );
    }
}

#[test]
fn instance_norm_captured_equals_one_example_at_a_time() {
    for config in [
        InstanceNormConfig::new(4),
        InstanceNormConfig::new(4).with_affine(false),
    ] {
        let layer = InstanceNorm::new(&config, &device());
        holds(layer.clone(), [0, 4, 3], InstanceNorm::forward::<3>);
        holds(layer, [0, 4, 3, 2], InstanceNorm::forward::<4>);
    }
}

#[test]
fn instance_norm_is_burns() {
    let x = random([3, 4, 3], DType::F32, &device());
    is_burns(
        InstanceNormConfig::new(4).with_epsilon(0.3).init(&device()),
        x,
        burn::nn::InstanceNorm::forward::<3>,
        InstanceNorm::forward::<3>,
    );
}

fn evaluated() -> burn::nn::BatchNorm {
    let mut layer = BatchNormConfig::new(3).init(&device());
    layer.training = Param::from_bool(false);
    let statistics = |at| RunningState::new(Tensor::<1>::from_floats(at, &device()));
    layer.running_mean = statistics([0.5, -0.3, 0.0]);
    layer.running_var = statistics([0.5, 2.0, 1.0]);
    layer
}

#[test]
fn batch_norm_in_evaluation_mode_captured_equals_one_example_at_a_time() {
    let layer = BatchNorm::from(evaluated());
    holds(layer.clone(), [0, 3], BatchNorm::forward::<2>);
    holds(layer.clone(), [0, 3, 1], BatchNorm::forward::<3>);
    holds(layer, [0, 3, 2, 4], BatchNorm::forward::<4>);
}

#[test]
fn batch_norm_is_burns() {
    let x = random([4, 3, 2], DType::F32, &device());
    is_burns(
        evaluated(),
        x,
        burn::nn::BatchNorm::forward::<3>,
        BatchNorm::forward::<3>,
    );
}

#[test]
fn batch_norm_in_training_mode_is_burns_outside_and_refused_by_name_inside() {
    let burn = BatchNormConfig::new(3).init(&device());
    let layer = BatchNorm::from(BatchNormConfig::new(3).init(&device()));
    let x = random([4, 3, 2], DType::F32, &device());
    assert_eq!(
        numbers(layer.forward(x.clone()).inner()),
        numbers(burn.forward(x.clone()).inner())
    );
    let known = numbers(burn.running_mean.value_sync().inner());
    assert_eq!(numbers(layer.running_mean.value_sync().inner()), known);

    let error = per_example_grads(&layer, |m| losses(m.forward(x.clone()))).unwrap_err();
    assert_eq!(error, Error::MixesExamples { layer: "BatchNorm" });
    insta::assert_snapshot!(error, @"`BatchNorm` is in training mode while per-example gradients are captured: the statistics of the batch mix the examples, so no example has a gradient of its own; freeze the layer (`norm.freeze()`), or train its scale and shift behind the running statistics (`norm.training = Param::from_bool(false)`), or take GroupNorm, LayerNorm or InstanceNorm");
    assert_eq!(numbers(layer.running_mean.value_sync().inner()), known);

    // Frozen inside a model, it is evaluated, and what is before it is trained.
    let head = pergrad::nn::Conv1d::new(&burn::nn::conv::Conv1dConfig::new(3, 3, 1), &device());
    let model = (head, layer.freeze());
    let losses = |m: &(pergrad::nn::Conv1d, BatchNorm), b: std::ops::Range<usize>| {
        losses(m.1.forward(m.0.forward(x.clone().slice([b]))))
    };
    pergrad::check_per_example_grads(&model, 4, losses, 1e-5).unwrap();
}
