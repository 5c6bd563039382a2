//! The optimizer on burn models: against the reference, across batches, dtypes, and a save in the middle.

use burn::module::{Module, Param};
use burn::nn::LinearConfig;
use burn::optim::GradientsParams;
use burn::tensor::{DType, Tensor};
use pergrad::nn::Linear;
use pergrad::prelude::*;
use pergrad::transforms::reference::Reference;
use pergrad::transforms::runner::{HostTensor, Runner, StepInput};
use pergrad::transforms::{Dtype, LeafInfo, ParamTree, State};
use pergrad::{Optimizer, PerExampleGrads, per_example_grads};

use crate::models::{
    Mlp, assert_close, cast, device, fixed, numbers, per_example_loss, random, tolerance,
};

#[test]
fn training_a_model_equals_the_reference_step_by_step() {
    for dtype in [DType::F32, DType::F64] {
        let chain = chain((clip_per_example(0.5), adamw(0.05).weight_decay(0.1)));
        let mut model = cast(Linear::new(&LinearConfig::new(3, 2), &device()), dtype);
        let mut optimizer = Optimizer::new(chain.clone()).unwrap();
        let leaf = |path: &str, shape: &[usize]| LeafInfo {
            path: path.to_owned(),
            shape: shape.to_vec(),
            dtype: Dtype::F64,
        };
        let tree = ParamTree::new(vec![leaf("weight", &[3, 2]), leaf("bias", &[2])]).unwrap();
        let mut reference =
            Reference::<f64>::new(&optimizer_program(&chain).unwrap(), &tree).unwrap();
        let mut params = [
            numbers(model.weight.val()),
            numbers(model.bias.as_ref().unwrap().val()),
        ];
        for examples in [4, 4, 1, 7] {
            let x = random([examples, 3], dtype, &device());
            let (_, grads) = per_example_grads(&model, |m| per_example_loss(m.forward(x))).unwrap();
            let mut input = StepInput::default();
            let g = numbers(grads.leaf::<3>("weight").unwrap());
            input
                .grads
                .insert("weight".into(), HostTensor::new([examples, 3, 2], g));
            let g = numbers(grads.leaf::<2>("bias").unwrap());
            input
                .grads
                .insert("bias".into(), HostTensor::new([examples, 2], g));
            input
                .params
                .insert("weight".into(), HostTensor::new([3, 2], params[0].clone()));
            input
                .params
                .insert("bias".into(), HostTensor::new([2], params[1].clone()));
            let updates = reference.step(&input).unwrap().updates;
            for (param, path) in params.iter_mut().zip(["weight", "bias"]) {
                for (p, u) in param.iter_mut().zip(&updates[path].values) {
                    *p += u;
                }
            }
            model = optimizer.step(model, grads).unwrap();
            assert_close(&numbers(model.weight.val()), &params[0], tolerance(dtype));
            assert_close(
                &numbers(model.bias.as_ref().unwrap().val()),
                &params[1],
                tolerance(dtype),
            );
            assert_eq!(model.weight.val().dtype(), dtype);
            assert!(model.weight.is_require_grad());
        }
    }
}

/// A few steps on fixed batches, saving and loading after `save_after` of them.
fn train(save_after: Option<usize>, dtype: DType) -> Vec<f64> {
    let device = device();
    let weight = |shape, seed| Param::from_tensor(fixed(shape, seed, DType::F32, &device));
    let mut model = Mlp::new(3, 4, 2, &device);
    model.first.weight = weight([3, 4], 1);
    model.second.weight = weight([4, 2], 2);
    model.first.bias = Some(Param::from_tensor(fixed([4], 3, DType::F32, &device)));
    model.second.bias = Some(Param::from_tensor(fixed([2], 4, DType::F32, &device)));
    let mut model = cast(model, dtype);
    let chain = || chain((clip_per_example(0.7), adam(cosine_decay_schedule(0.1, 10))));
    let mut optimizer = Optimizer::new(chain()).unwrap();
    for step in 0..6 {
        let x = fixed([5, 3], 100 + step, dtype, &device);
        let (_, grads) = per_example_grads(&model, |m| m.losses(x)).unwrap();
        model = optimizer.step(model, grads).unwrap();
        if save_after == Some(step) {
            let text = serde_json::to_string(&optimizer.state(&model).unwrap()).unwrap();
            optimizer = Optimizer::new(chain()).unwrap();
            let state: State = serde_json::from_str(&text).unwrap();
            optimizer.load(&model, &state).unwrap();
            assert_eq!(optimizer.state(&model).unwrap(), state);
        }
    }
    numbers(model.first.weight.val())
}

#[test]
fn restoring_is_bit_equal_to_not_stopping() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        assert_eq!(train(None, dtype), train(Some(2), dtype));
    }
}

#[test]
fn setting_the_learning_rate_to_zero_stops_the_parameters_but_not_the_state() {
    let mut model = Mlp::new(3, 2, 2, &device());
    let mut optimizer = Optimizer::new(adam(0.1)).unwrap();
    let x = random([4, 3], DType::F32, &device());
    optimizer.set_hyper("learning_rate", 0.0).unwrap();
    assert_eq!(optimizer.hyper("learning_rate").unwrap(), 0.0);
    let before = numbers(model.first.weight.val());
    let (_, grads) = per_example_grads(&model, |m| m.losses(x)).unwrap();
    model = optimizer.step(model, grads).unwrap();
    assert_eq!(numbers(model.first.weight.val()), before);
    assert_eq!(optimizer.steps_taken(), 1);
}

#[test]
fn frozen_parameters_stay_as_they_are_and_have_no_state() {
    let mut model = Mlp::new(3, 2, 2, &device());
    model.first = model.first.no_grad();
    let before = numbers(model.first.weight.val());
    let mut optimizer = Optimizer::new(adamw(0.1).weight_decay(0.5)).unwrap();
    let x = random([4, 3], DType::F32, &device());
    let (_, grads) = per_example_grads(&model, |m| m.losses(x)).unwrap();
    model = optimizer.step(model, grads).unwrap();
    assert_eq!(numbers(model.first.weight.val()), before);
    assert!(!model.first.weight.is_require_grad());
    let state = optimizer.state(&model).unwrap();
    assert!(
        state
            .slots
            .iter()
            .all(|slot| slot.leaf.as_deref().unwrap().starts_with("second"))
    );
}

#[test]
fn weight_decay_follows_its_mask() {
    let model = Linear::new(&LinearConfig::new(2, 1), &device());
    let decay = adamw(0.1)
        .weight_decay(0.5)
        .mask(Leaves::matching("*weight"));
    let mut optimizer = Optimizer::new(decay).unwrap();
    let zeros = PerExampleGrads::builder()
        .leaf("weight", Tensor::<3>::zeros([2, 2, 1], &device()))
        .leaf("bias", Tensor::<2>::zeros([2, 1], &device()))
        .build()
        .unwrap();
    let (weight, bias) = (
        numbers(model.weight.val()),
        numbers(model.bias.as_ref().unwrap().val()),
    );
    let model = optimizer.step(model, zeros).unwrap();
    let decayed: Vec<f64> = weight.iter().map(|w| w * (1.0 - 0.1 * 0.5)).collect();
    assert_close(&numbers(model.weight.val()), &decayed, 1e-6);
    assert_eq!(numbers(model.bias.unwrap().val()), bias);
}

#[test]
fn an_aggregated_optimizer_takes_burns_gradients_of_any_model() {
    let model = LinearConfig::new(3, 2).init(&device());
    let x = random([4, 3], DType::F32, &device());
    let loss = per_example_loss(model.forward(x.clone())).mean();
    let grads = GradientsParams::from_grads(loss.backward(), &model);
    let mut aggregated = Optimizer::aggregated(adam(0.1)).unwrap();
    let ordinary = aggregated.step(model.clone(), grads).unwrap();

    let ours = Linear::from(model);
    let (_, grads) = per_example_grads(&ours, |m| per_example_loss(m.forward(x))).unwrap();
    let mut per_example = Optimizer::new(adam(0.1)).unwrap();
    let ours = per_example.step(ours, grads).unwrap();
    assert_close(
        &numbers(ours.weight.val()),
        &numbers(ordinary.weight.val()),
        1e-5,
    );

    let other = LinearConfig::new(3, 2).init(&device());
    let loss = per_example_loss(other.forward(random([4, 3], DType::F32, &device()))).mean();
    let grads = GradientsParams::from_grads(loss.backward(), &other);
    let rejected = aggregated.step(ordinary, grads).unwrap_err();
    assert!(
        rejected.to_string().contains("of another model"),
        "{rejected}"
    );
}

#[test]
fn metrics_can_be_read_after_a_step() {
    let model = Linear::new(&LinearConfig::new(1, 1).with_bias(false), &device());
    let mut optimizer =
        Optimizer::new(chain((clip_per_example(2.0).per_leaf(), sgd(0.1)))).unwrap();
    let g = Tensor::<3>::from_floats([[[1.0]], [[3.0]], [[-4.0]], [[2.0]]], &device());
    let grads = PerExampleGrads::builder()
        .leaf("weight", g)
        .build()
        .unwrap();
    optimizer.step(model, grads).unwrap();
    assert_eq!(
        optimizer.metrics().unwrap()["clip_per_example.num_clipped"],
        [2.0]
    );
}

/// The same two layers in two orders.
#[derive(Module, Debug)]
struct Ab {
    a: Linear,
    b: Linear,
}

#[derive(Module, Debug)]
struct Ba {
    b: Linear,
    a: Linear,
}

#[test]
fn state_follows_its_leaf_when_the_order_of_leaves_changes() {
    let layer = || Linear::new(&LinearConfig::new(1, 1).with_bias(false), &device());
    let grads = |a: f32, b: f32| {
        PerExampleGrads::builder()
            .leaf("a.weight", Tensor::<3>::full([1, 1, 1], a, &device()))
            .leaf("b.weight", Tensor::<3>::full([1, 1, 1], b, &device()))
            .build()
            .unwrap()
    };
    let mut optimizer = Optimizer::new(chain((mean(), trace(1.0)))).unwrap();
    optimizer
        .update(
            &Ab {
                a: layer(),
                b: layer(),
            },
            &grads(1.0, 100.0),
        )
        .unwrap();
    let other = Ba {
        a: layer(),
        b: layer(),
    };
    let updates = optimizer.update(&other, &grads(0.0, 0.0)).unwrap();
    assert_eq!(numbers(updates.leaf::<2>("a.weight").unwrap()), [1.0]);
    assert_eq!(numbers(updates.leaf::<2>("b.weight").unwrap()), [100.0]);
}

#[test]
fn a_refused_model_leaves_the_state_alone() {
    let decay = add_decayed_weights(0.1).mask(Leaves::Paths([("weight".to_owned(), true)].into()));
    let mut optimizer = Optimizer::new(chain((mean(), trace(1.0), decay))).unwrap();
    let model = Linear::new(&LinearConfig::new(1, 1).with_bias(false), &device());
    let grads = |path: &str| {
        let g = Tensor::<3>::ones([1, 1, 1], &device());
        PerExampleGrads::builder().leaf(path, g).build().unwrap()
    };
    optimizer.update(&model, &grads("weight")).unwrap();
    let before = optimizer.state(&model).unwrap();
    let wrong = Mlp::new(1, 1, 1, &device());
    let wrong = Ab {
        a: wrong.first,
        b: wrong.second,
    };
    assert!(optimizer.update(&wrong, &grads("a.weight")).is_err());
    assert!(optimizer.state(&wrong).is_err());
    assert_eq!(optimizer.state(&model).unwrap(), before);
}

#[test]
fn a_leaf_without_elements_is_trained_like_any_other() {
    let mut model = Mlp::new(1, 3, 2, &device());
    model.first.weight = Param::from_tensor(Tensor::zeros([0, 3], &device()));
    let grads = PerExampleGrads::builder()
        .leaf("first.weight", Tensor::<3>::zeros([2, 0, 3], &device()))
        .leaf("first.bias", Tensor::<2>::ones([2, 3], &device()))
        .leaf("second.weight", Tensor::<3>::ones([2, 3, 2], &device()))
        .leaf("second.bias", Tensor::<2>::ones([2, 2], &device()))
        .build()
        .unwrap();
    let mut optimizer = Optimizer::new(chain((clip_per_example(1.0), adam(0.1)))).unwrap();
    let updates = optimizer.update(&model, &grads).unwrap();
    assert_eq!(updates.leaf::<2>("first.weight").unwrap().dims(), [0, 3]);
    let model = optimizer.step(model, grads).unwrap();
    assert_eq!(model.first.weight.val().dims(), [0, 3]);
}

#[test]
fn an_unused_parameter_has_a_gradient_of_zeros_for_an_aggregated_optimizer_too() {
    let model = Mlp::new(3, 2, 2, &device());
    let loss = per_example_loss(model.first.forward(random([4, 3], DType::F32, &device()))).mean();
    let grads = GradientsParams::from_grads(loss.backward(), &model);
    let before = numbers(model.second.weight.val());
    let mut optimizer = Optimizer::aggregated(adam(0.1)).unwrap();
    let model = optimizer.step(model, grads).unwrap();
    assert_eq!(numbers(model.second.weight.val()), before);
}
