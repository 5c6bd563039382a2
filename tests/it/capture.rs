//! Captured per-example gradients: against one example at a time, against sums by hand, and what is refused.

use burn::module::{Module, Param};
use burn::nn::LinearConfig;
use burn::optim::GradientsParams;
use burn::tensor::{DType, Tensor};
use pergrad::nn::Linear;
use pergrad::{
    NormMethod, Settings, check_per_example_grads, per_example_grads, per_example_grads_looped,
    per_example_norms,
};
use proptest::prelude::*;

use crate::models::{
    Mlp, assert_close, cast, device, numbers, per_example_loss, random, tolerance,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn captured_equals_one_example_at_a_time(
        examples in 1_usize..6,
        tokens in 0_usize..4,
        inputs in 1_usize..5,
        hidden in 1_usize..5,
        double in any::<bool>(),
    ) {
        let dtype = if double { DType::F64 } else { DType::F32 };
        let model = cast(Mlp::new(inputs, hidden, 2, &device()), dtype);
        // 0 tokens stands for an input of rank 2.
        if tokens == 0 {
            let x = random([examples, inputs], dtype, &device());
            check_per_example_grads(&model, examples, |m, b| m.losses(x.clone().slice([b])), tolerance(dtype)).unwrap();
        } else {
            let x = random([examples, tokens, inputs], dtype, &device());
            check_per_example_grads(&model, examples, |m, b| m.losses(x.clone().slice([b])), tolerance(dtype)).unwrap();
        }
    }
}

#[test]
fn the_per_example_gradients_sum_to_the_ordinary_gradient_of_burn() {
    let model = Mlp::new(4, 3, 2, &device());
    let x = random([6, 4], DType::F32, &device());
    let (losses, grads) = per_example_grads(&model, |m| m.losses(x.clone())).unwrap();

    let ordinary = model.losses(x).sum();
    assert_close(
        &numbers(losses.sum()),
        &numbers(ordinary.clone().inner()),
        1e-6,
    );
    let mut ordinary = ordinary.backward();
    let ordinary = GradientsParams::from_module(&mut ordinary, &model);
    let weight = ordinary.get::<2>(model.first.weight.id).unwrap();
    let bias = ordinary
        .get::<1>(model.second.bias.as_ref().unwrap().id)
        .unwrap();
    let captured = grads.leaf::<3>("first.weight").unwrap().sum_dim(0);
    assert_close(&numbers(captured), &numbers(weight), 1e-5);
    let captured = grads.leaf::<2>("second.bias").unwrap().sum_dim(0);
    assert_close(&numbers(captured), &numbers(bias), 1e-5);
}

#[test]
fn a_linear_layer_with_tokens_adds_them_up_before_anything_else() {
    // A = [[1, 0], [1, 1]], D = [[1, 2], [3, -1]]: weight gradient [[4, 1], [3, -1]], bias gradient [4, 1].
    let layer = Linear::new(&LinearConfig::new(2, 2), &device());
    let a = Tensor::<3>::from_floats([[[1.0, 0.0], [1.0, 1.0]]], &device());
    let d = Tensor::<3>::from_floats([[[1.0, 2.0], [3.0, -1.0]]], &device());
    let (_, grads) = per_example_grads(&layer, |m| {
        (m.forward(a) * d).sum_dim(2).sum_dim(1).reshape([1])
    })
    .unwrap();
    assert_eq!(
        numbers(grads.leaf::<3>("weight").unwrap()),
        [4.0, 1.0, 3.0, -1.0]
    );
    assert_eq!(numbers(grads.leaf::<2>("bias").unwrap()), [4.0, 1.0]);
}

#[test]
fn case_27_a_reused_layer_adds_its_uses_up() {
    // y = w (w x), w = 2, x = 1, 3: dy/dw = 2 w x = 4, 12.
    let mut layer = Linear::new(&LinearConfig::new(1, 1).with_bias(false), &device());
    layer.weight = Param::from_tensor(Tensor::from_floats([[2.0]], &device()));
    let x = Tensor::<2>::from_floats([[1.0], [3.0]], &device());
    let twice = |m: &Linear| m.forward(m.forward(x.clone())).reshape([2]);
    let (_, grads) = per_example_grads(&layer, twice).unwrap();
    assert_eq!(numbers(grads.leaf::<3>("weight").unwrap()), [4.0, 12.0]);
    // The norm of the sum of the uses, not of the uses apart (2.83).
    let (_, norms) = per_example_norms(&layer, twice, Settings::default()).unwrap();
    assert_close(&numbers(norms), &[4.0, 12.0], 1e-6);
}

#[test]
fn case_28_a_bias_over_tokens_adds_up_before_the_square() {
    // A = [[1, 0], [1, 1]] and the output gradient [[1, 2], [3, -1]]: squared norms 27 of the weight, 17 of the bias.
    let layer = Linear::new(&LinearConfig::new(2, 2), &device());
    let a = || Tensor::<3>::from_floats([[[1.0, 0.0], [1.0, 1.0]]], &device());
    let g = Tensor::<3>::from_floats([[[1.0, 2.0], [3.0, -1.0]]], &device());
    let methods = [
        NormMethod::Auto,
        NormMethod::Ghost,
        NormMethod::Simultaneous,
    ];
    for method in methods {
        let settings = Settings::default().norm_method(method);
        let three = |m: &Linear| {
            (m.forward(a()) * g.clone())
                .sum_dim(1)
                .sum_dim(2)
                .reshape([1])
        };
        let (_, norms) = per_example_norms(&layer, three, settings).unwrap();
        assert_close(&numbers(norms), &[44.0_f64.sqrt()], 1e-6);
        // The same tokens in two axes.
        let four = |m: &Linear| {
            let z = m.forward(a().reshape([1, 2, 1, 2])).reshape([1, 2, 2]);
            (z * g.clone()).sum_dim(1).sum_dim(2).reshape([1])
        };
        let (_, norms) = per_example_norms(&layer, four, settings).unwrap();
        assert_close(&numbers(norms), &[44.0_f64.sqrt()], 1e-6);
    }
}

/// One weight at two places of the model.
#[derive(Module, Debug)]
struct Tied {
    up: Linear,
    down: Linear,
}

#[test]
fn a_tied_weight_is_one_leaf_and_adds_its_uses_up() {
    let up = Linear::new(&LinearConfig::new(2, 2).with_bias(false), &device());
    let model = Tied {
        down: up.clone(),
        up,
    };
    let x = random([3, 2], DType::F32, &device());
    let losses = |m: &Tied, b: std::ops::Range<usize>| {
        per_example_loss(m.down.forward(m.up.forward(x.clone().slice([b]))))
    };
    check_per_example_grads(&model, 3, losses, 1e-5).unwrap();
    let (_, grads) = per_example_grads(&model, |m| losses(m, 0..3)).unwrap();
    assert_eq!(grads.paths().collect::<Vec<_>>(), ["up.weight"]);

    let mut optimizer = pergrad::Optimizer::new(pergrad::prelude::sgd(0.1)).unwrap();
    let model = optimizer.step(model, grads).unwrap();
    assert_eq!(
        numbers(model.up.weight.val()),
        numbers(model.down.weight.val())
    );

    // And they are still one tensor: both ways see both uses after a step, and so does an ordinary backward pass.
    check_per_example_grads(&model, 3, losses, 1e-5).unwrap();
    let (_, grads) = per_example_grads(&model, |m| losses(m, 0..3)).unwrap();
    let ordinary = GradientsParams::from_grads(losses(&model, 0..3).sum().backward(), &model);
    let ordinary = ordinary.get::<2>(model.up.weight.id).unwrap();
    let sum = grads.leaf::<3>("up.weight").unwrap().sum_dim(0);
    assert_close(&numbers(sum), &numbers(ordinary), 1e-5);
}

#[test]
fn case_31_frozen_parameters_are_left_out_and_unused_ones_get_zeros() {
    let mut model = Mlp::new(3, 2, 2, &device());
    model.first = model.first.no_grad();
    let x = random([4, 3], DType::F32, &device());
    let (_, grads) = per_example_grads(&model, |m| m.losses(x.clone())).unwrap();
    assert_eq!(
        grads.paths().collect::<Vec<_>>(),
        ["second.weight", "second.bias"]
    );
    check_per_example_grads(&model, 4, |m, b| m.losses(x.clone().slice([b])), 1e-5).unwrap();

    let model = Mlp::new(3, 2, 2, &device());
    let (_, grads) = per_example_grads(&model, |m| per_example_loss(m.first.forward(x))).unwrap();
    assert_eq!(
        numbers(grads.leaf::<3>("second.weight").unwrap()),
        [0.0; 16]
    );
}

#[test]
fn a_weight_alone_or_a_bias_alone_can_be_frozen() {
    let x = random([4, 3], DType::F32, &device());
    for freeze_weight in [true, false] {
        let mut model = Mlp::new(3, 2, 2, &device());
        if freeze_weight {
            model.second.weight = model.second.weight.set_require_grad(false);
        } else {
            model.second.bias = model.second.bias.map(|b| b.set_require_grad(false));
        }
        check_per_example_grads(&model, 4, |m, b| m.losses(x.clone().slice([b])), 1e-5).unwrap();
    }
}

#[test]
fn a_layer_is_burns_outside_a_capture_forward_and_backward() {
    let burn = LinearConfig::new(3, 2).init(&device());
    let ours = Linear::from(burn.clone());
    let x = random([4, 3], DType::F32, &device());
    let (y, z) = (burn.forward(x.clone()), ours.forward(x));
    assert_eq!(numbers(y.clone().inner()), numbers(z.clone().inner()));
    let theirs = GradientsParams::from_grads(per_example_loss(y).mean().backward(), &burn);
    let mine = GradientsParams::from_grads(per_example_loss(z).mean().backward(), &ours);
    let id = burn.weight.id;
    assert_eq!(
        numbers(theirs.get::<2>(id).unwrap()),
        numbers(mine.get::<2>(id).unwrap())
    );
    let back = burn::nn::Linear::from(ours);
    assert_eq!(back.weight.id, id);
}

#[test]
fn a_capture_that_panics_leaves_the_thread_usable() {
    let model = Mlp::new(2, 2, 2, &device());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = per_example_grads(&model, |_| panic!("in the closure"));
    }));
    assert!(panicked.is_err());
    let x = random([2, 2], DType::F32, &device());
    assert!(per_example_grads(&model, |m| m.losses(x)).is_ok());
}

#[test]
fn an_empty_batch_gives_empty_gradients_one_at_a_time() {
    let model = Mlp::new(2, 2, 2, &device());
    let (losses, grads) = per_example_grads_looped(&model, 0, |m, _| {
        m.losses(Tensor::<2>::zeros([1, 2], &device()))
    })
    .unwrap();
    assert_eq!((losses.dims(), grads.examples()), ([0], 0));
}

#[test]
fn gradient_checkpointing_changes_nothing() {
    let device = device().gradient_checkpointing();
    let model = Mlp::new(3, 4, 2, &device);
    let x = random([3, 3], DType::F32, &device);
    check_per_example_grads(&model, 3, |m, b| m.losses(x.clone().slice([b])), 1e-5).unwrap();
    let (_, grads) = per_example_grads(&model, |m| m.losses(x.clone())).unwrap();
    let mut optimizer = pergrad::Optimizer::new(pergrad::prelude::sgd(0.1)).unwrap();
    let model = optimizer.step(model, grads).unwrap();
    check_per_example_grads(&model, 3, |m, b| m.losses(x.clone().slice([b])), 1e-5).unwrap();
}

#[test]
fn a_weight_that_is_computed_from_a_trained_one_is_refused_and_not_zero() {
    let mut layer = Linear::new(&LinearConfig::new(2, 2).with_bias(false), &device());
    let x = random([3, 2], DType::F32, &device());
    let (base, x) = (layer.clone(), &x);
    let error = per_example_grads(&base, |m| {
        layer.weight = m.weight.clone().map(|w| w.mul_scalar(2.0));
        per_example_loss(layer.forward(x.clone()))
    })
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`weight` is trained, but it was used outside"),
        "{error}"
    );
}

#[test]
fn another_copy_of_the_model_is_refused_and_a_clone_is_the_model() {
    let model = Mlp::new(2, 3, 2, &device());
    let x = random([3, 2], DType::F32, &device());
    let target = model.clone().fork(&device());
    let error =
        per_example_grads(&model, |m| m.losses(x.clone()) + target.losses(x.clone())).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("was used by another copy of the model"),
        "{error}"
    );

    let frozen = target.no_grad();
    let losses = |m: &Mlp, b: std::ops::Range<usize>| {
        let x = x.clone().slice([b]);
        m.clone().losses(x.clone()) + frozen.losses(x)
    };
    check_per_example_grads(&model, 3, losses, 1e-5).unwrap();
}

#[test]
fn another_model_in_the_closure_may_see_another_batch() {
    let (model, other) = (Mlp::new(2, 3, 2, &device()), Mlp::new(2, 3, 2, &device()));
    let (x, y) = (
        random([3, 2], DType::F32, &device()),
        random([5, 2], DType::F32, &device()),
    );
    let losses = |m: &Mlp, b: std::ops::Range<usize>| {
        m.losses(x.clone().slice([b])) + other.losses(y.clone()).mean()
    };
    check_per_example_grads(&model, 3, losses, 1e-5).unwrap();
}

#[test]
fn one_example_at_a_time_inside_a_capture_is_refused() {
    let model = Mlp::new(2, 3, 2, &device());
    let x = random([3, 2], DType::F32, &device());
    let mut inner = None;
    per_example_grads(&model, |m| {
        inner = Some(
            per_example_grads_looped(m, 3, |m, b| m.losses(x.clone().slice([b]))).unwrap_err(),
        );
        m.losses(x.clone())
    })
    .unwrap();
    assert_eq!(inner, Some(pergrad::Error::Nested));
}

#[test]
fn an_empty_batch_of_tokens_is_empty() {
    let layer = Linear::new(&LinearConfig::new(2, 3), &device());
    let x = Tensor::<3>::zeros([0, 4, 2], &device());
    assert_eq!(layer.forward(x.clone()).dims(), [0, 4, 3]);
    let result = per_example_grads(&layer, |m| {
        m.forward(x)
            .sum_dim(2)
            .sum_dim(1)
            .slice([0..0, 0..1, 0..1])
            .flatten::<1>(0, 2)
    });
    let (losses, grads) = result.unwrap();
    assert_eq!((losses.dims(), grads.examples()), ([0], 0));
}

#[test]
fn many_tokens_in_half_precision_add_up_in_f32() {
    // 5000 ones: a sum in f16 stalls at 2048.
    for (inputs, outputs) in [(1, 1), (64, 1), (1, 64), (64, 64)] {
        let config = LinearConfig::new(inputs, outputs);
        let layer = cast(Linear::new(&config, &device()), DType::F16);
        let x = Tensor::<3>::ones([1, 5000, inputs], (&device(), DType::F16));
        let (_, grads) =
            per_example_grads(&layer, |m| m.forward(x).sum_dim(2).sum_dim(1).reshape([1])).unwrap();
        for gradient in [
            grads
                .leaf::<3>("weight")
                .unwrap()
                .reshape([inputs * outputs]),
            grads.leaf::<2>("bias").unwrap().reshape([outputs]),
        ] {
            assert!(numbers(gradient).iter().all(|g| (g - 5000.0).abs() < 4.0));
        }
    }
}

#[test]
fn the_check_finds_a_small_wrong_example_beside_a_large_one() {
    let mut layer = Linear::new(&LinearConfig::new(1, 1).with_bias(false), &device());
    layer.weight = Param::from_tensor(Tensor::ones([1, 1], &device()));
    let x = Tensor::<2>::from_floats([[1e6], [1.0], [1.0]], &device());
    // Twice the loss for the second example, but only when all are there.
    let losses = |m: &Linear, b: std::ops::Range<usize>| {
        let y = m.forward(x.clone().slice([b.clone()])).reshape([b.len()]);
        if b.len() == 3 {
            y * Tensor::from_floats([1.0, 2.0, 1.0], &device())
        } else {
            y
        }
    };
    assert!(check_per_example_grads(&layer, 3, losses, 1e-5).is_err());
}
