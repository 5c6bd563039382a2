//! Edges where silence, a panic or a lost state would be easy.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::{Module, Param};
use burn::nn::{EmbeddingConfig, LayerNormConfig, LinearConfig};
use burn::tensor::{DType, Device, Int, IntDType, Shape, Tensor, TensorData};
use pergrad::grads::form::Form;
use pergrad::nn::{Embedding, LayerNorm, Linear};
use pergrad::prelude::*;
use pergrad::{Error, Optimizer, PerExampleGrads, Settings, per_example_grads, per_token_grads};

use crate::models::{assert_close, device, fixed, numbers, per_example_loss};

#[test]
fn a_scale_that_is_computed_from_a_leaf_is_refused_not_left_out() {
    let mut norm = LayerNorm::new(&LayerNormConfig::new(3), &device());
    let doubled = norm.gamma.val() * 2.0; // tracked, but no leaf
    norm.gamma = Param::initialized(norm.gamma.id, doubled);
    #[derive(Module, Debug)]
    struct Both {
        norm: LayerNorm,
        base: Param<Tensor<1>>,
    }
    let base = Param::from_tensor(Tensor::<1>::ones([3], &device()));
    norm.gamma = Param::initialized(norm.gamma.id, base.val() * 2.0);
    let model = Both { norm, base };
    let x: Tensor<2> = fixed([4, 3], 1, DType::F32, &device());
    let error = per_example_grads(&model, |m| per_example_loss(m.norm.forward(x))).unwrap_err();
    assert!(
        matches!(&error, Error::NotCaptured { leaf } if leaf == "base"),
        "{error}"
    );
}

#[test]
fn gradients_built_on_a_device_with_autodiff_are_taken_without() {
    let layer = Linear::new(&LinearConfig::new(3, 2).with_bias(false), &device());
    let ones = |width| Tensor::<3>::ones([4, 1, width], &device());
    let outer = Form::Outer {
        left: ones(3),
        right: ones(2),
    };
    for form in [outer.clone(), Form::Dense(outer.into_dense())] {
        let grads = PerExampleGrads::builder().form("weight", [3, 2], form);
        let updates = Optimizer::new(chain((tanh(), mean())))
            .unwrap()
            .update(&layer, &grads.build().unwrap())
            .unwrap();
        let want = [1.0_f64.tanh(); 6];
        assert_close(&numbers(updates.leaf::<2>("weight").unwrap()), &want, 1e-6);
    }
}

/// A table of 300 rows, and gradients of rows of it.
fn table(ids: Tensor<2, Int>, d: Tensor<3>) -> (Embedding, PerExampleGrads) {
    let table = Embedding::new(&EmbeddingConfig::new(300, 2), &device());
    let form = Form::Gather { ids, d, rows: 300 };
    let grads = PerExampleGrads::builder().form("weight", [300, 2], form);
    (table, grads.build().unwrap())
}

#[test]
fn ids_may_be_of_any_width() {
    let ids: Vec<i64> = vec![0, 255, 255, 17, 17, 0];
    let ids = TensorData::new(ids, [2, 3]);
    let ids = Tensor::<2, Int>::from_data(ids, &Device::default());
    let d: Tensor<3> = fixed([2, 3, 2], 4, DType::F32, &Device::default());
    let run = |ids: Tensor<2, Int>, settings: Settings| {
        let (model, grads) = table(ids, d.clone());
        let optimizer = Optimizer::new(chain((exponential(), max())));
        let mut optimizer = optimizer.unwrap().with_settings(settings);
        let updates = optimizer.update(&model, &grads).unwrap();
        numbers(updates.leaf::<2>("weight").unwrap())
    };
    let want = run(ids.clone(), Settings::default());
    for dtype in [IntDType::U8, IntDType::I16, IntDType::I32, IntDType::I64] {
        let tiles = Settings::default().memory_budget(0);
        assert_close(&run(ids.clone().cast(dtype), tiles), &want, 1e-6);
    }
}

/// `e^g`, which no factors tell.
#[derive(Clone, Debug)]
struct Exponential;

fn exponential() -> Exponential {
    Exponential
}

impl<A: pergrad::transforms::Axis> Transform<A> for Exponential {
    type Out = A;

    fn trace(&self, g: Value<A>, _cx: &mut Tracer) -> Value<A> {
        g.exp()
    }
}

#[test]
fn a_step_that_panics_says_that_the_state_is_lost_and_a_saved_one_goes_on() {
    let d: Tensor<3> = fixed([2, 1, 2], 4, DType::F32, &Device::default());
    let ids = |id: i64| {
        let ids = TensorData::new(vec![id, 3], [2, 1]);
        Tensor::<2, Int>::from_data(ids, &Device::default())
    };
    let (model, good) = table(ids(1), d.clone());
    let form = Form::Gather {
        ids: ids(4000),
        d,
        rows: 300,
    };
    let bad = PerExampleGrads::builder().form("weight", [300, 2], form);
    let bad = bad.build().unwrap();
    let mut optimizer = Optimizer::new(adam(0.1)).unwrap();
    optimizer.update(&model, &good).unwrap();
    let saved = optimizer.state(&model).unwrap();
    let mut straight = optimizer.clone();
    if !format!("{:?}", Device::default()).contains("Flex") {
        return; // only Flex refuses an id while the step runs
    }
    let panicked = catch_unwind(AssertUnwindSafe(|| optimizer.update(&model, &bad).is_ok()));
    assert!(
        panicked.is_err(),
        "an id beyond the table is burn's to refuse"
    );
    assert_eq!(optimizer.state(&model).unwrap_err(), Error::Interrupted);
    assert_eq!(
        optimizer.update(&model, &good).unwrap_err(),
        Error::Interrupted
    );
    let mut other = Optimizer::new(sign_ema(0.1)).unwrap();
    let misfit = other.state(&model).unwrap();
    assert!(optimizer.load(&model, &misfit).is_err());
    assert_eq!(optimizer.state(&model).unwrap_err(), Error::Interrupted);
    optimizer.load(&model, &saved).unwrap();
    let step = |optimizer: &mut Optimizer| {
        let updates = optimizer.update(&model, &good).unwrap();
        numbers(updates.leaf::<2>("weight").unwrap())
    };
    assert_eq!(step(&mut optimizer), step(&mut straight));
}

#[derive(Module, Debug)]
struct Pair {
    used: Linear,
    unused: Linear,
}

fn pair() -> Pair {
    let layer = |inputs| Linear::new(&LinearConfig::new(inputs, 2).with_bias(false), &device());
    Pair {
        used: layer(3),
        unused: layer(4),
    }
}

#[test]
fn per_token_gradients_of_no_examples_and_of_unused_parameters() {
    let model = pair();
    let x: Tensor<3> = fixed([2, 5, 3], 1, DType::F32, &device());
    let (losses, grads) = per_token_grads(&model, |m| per_example_loss(m.used.forward(x))).unwrap();
    assert_eq!((losses.dims(), grads.examples()), ([2], 10));
    let unused = grads.leaf::<3>("unused.weight").unwrap();
    assert_eq!(unused.dims(), [10, 4, 2]);
    assert!(numbers(unused).iter().all(|g| *g == 0.0));
    let none = Tensor::<2>::zeros(Shape::new([0, 3]), &device());
    let (_, grads) = per_token_grads(&model, |m| per_example_loss(m.used.forward(none))).unwrap();
    assert_eq!(grads.examples(), 0);
}

#[test]
fn a_normalization_of_no_tokens_gives_zeros() {
    let norm = LayerNorm::new(&LayerNormConfig::new(3), &device());
    let x = Tensor::<3>::zeros(Shape::new([2, 0, 3]), &device());
    let (_, grads) = per_example_grads(&norm, |m| {
        let y = m.forward(x);
        y.sum_dim(1).sum_dim(2).reshape([2])
    })
    .unwrap();
    assert_eq!(numbers(grads.leaf::<2>("gamma").unwrap()), [0.0; 6]);
}

#[test]
fn updates_of_a_model_apply_to_a_part_of_it() {
    let model = pair();
    let x: Tensor<2> = fixed([2, 3], 1, DType::F32, &device());
    let (_, grads) = per_example_grads(&model, |m| per_example_loss(m.used.forward(x))).unwrap();
    let mut optimizer = Optimizer::new(sgd(0.5)).unwrap();
    let updates = optimizer.update(&model, &grads).unwrap();
    let before = numbers(model.used.weight.val().inner());
    let step = numbers(updates.leaf::<2>("used.weight").unwrap());
    let part = updates.apply(model.used);
    let want: Vec<f64> = before.iter().zip(&step).map(|(p, u)| p + u).collect();
    assert_close(&numbers(part.weight.val().inner()), &want, 1e-6);
}
