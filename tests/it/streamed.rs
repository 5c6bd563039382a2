//! Capture and step in one, norms alone, and clipping in two backward passes: each equals what it is made of.

use std::cell::RefCell;
use std::rc::Rc;

use burn::module::{Module, Param};
use burn::nn::conv::Conv2dConfig;
use burn::nn::{EmbeddingConfig, LayerNormConfig, LinearConfig};
use burn::tensor::{DType, Int, Tensor, TensorData};
use pergrad::capture::tape::{Use, is_recording, record};
use pergrad::grads::form::Form;
use pergrad::nn::{Conv2d, Embedding, LayerNorm, Linear};
use pergrad::prelude::*;
use pergrad::transforms::Transform;
use pergrad::transforms::axis::Updates;
use pergrad::{
    Error, Extras, NormMethod, Optimizer, PerExampleGrads, Settings, clip_weights,
    per_example_grads, per_example_grads_looped, per_example_norms, reweighted_grads,
};

use crate::models::{Mlp, assert_close, cast, device, fixed, numbers, per_example_loss};

/// Leaves of every form, one of them used twice and one not at all.
#[derive(Module, Debug)]
struct Everything {
    words: Embedding,
    norm: LayerNorm,
    hidden: Linear,
    pixels: Conv2d,
    unused: Linear,
}

impl Everything {
    fn new() -> Self {
        let device = device();
        let model = Self {
            words: Embedding::new(&EmbeddingConfig::new(7, 4), &device),
            norm: LayerNorm::new(&LayerNormConfig::new(4), &device),
            hidden: Linear::new(&LinearConfig::new(4, 4), &device),
            pixels: Conv2d::new(&Conv2dConfig::new([1, 2], [2, 2]), &device),
            unused: Linear::new(&LinearConfig::new(2, 3), &device),
        };
        cast(model, DType::F64)
    }

    fn losses(&self, examples: std::ops::Range<usize>) -> Tensor<1> {
        let device = device();
        let ids: Vec<i64> = (0..15).map(|at| (at * 5 + at / 4) % 7).collect();
        let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [5, 3]), &device);
        let x = self.words.forward(ids.slice([examples]));
        let x = self.hidden.forward(self.norm.forward(x)).tanh();
        let x = self.hidden.forward(x);
        let [examples, tokens, width] = x.dims();
        let image = x.reshape([examples, 1, tokens, width]);
        per_example_loss(self.pixels.forward(image))
    }
}

/// The parameters after some steps.
fn trained(mut step: impl FnMut(Everything) -> Everything) -> Vec<f64> {
    let mut model = fill(Everything::new());
    for _ in 0..3 {
        model = step(model);
    }
    let model = model;
    let mut all = numbers(model.words.weight.val().inner());
    all.extend(numbers(model.norm.gamma.val().inner()));
    all.extend(numbers(model.hidden.weight.val().inner()));
    all.extend(numbers(model.pixels.weight.val().inner()));
    all.extend(numbers(model.unused.weight.val().inner()));
    all
}

/// The same parameters in every test.
fn fill<M: Module>(model: M) -> M {
    struct Fill(usize);
    impl burn::module::ModuleMapper for Fill {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            self.0 += 1;
            let value = param.val();
            let fixed = fixed(value.dims(), self.0, value.dtype(), &value.device());
            Param::initialized(param.id, fixed.require_grad())
        }
    }
    model.map(&mut Fill(0))
}

fn check_stream<T>(chain: T)
where
    T: Transform<pergrad::transforms::PerExample> + Clone,
    T::Out: Updates,
{
    let (mut one, mut two) = (
        Optimizer::new(chain.clone()).unwrap(),
        Optimizer::new(chain).unwrap(),
    );
    let in_one = trained(|model| {
        let (losses, model) = one.step_on(model, |m| m.losses(0..5)).unwrap();
        assert_eq!(losses.dims(), [5]);
        model
    });
    let in_two = trained(|model| {
        let (_, grads) = per_example_grads(&model, |m| m.losses(0..5)).unwrap();
        two.step(model, grads).unwrap()
    });
    assert_eq!(in_one, in_two);
    assert_eq!(one.metrics().unwrap(), two.metrics().unwrap());
}

#[test]
fn a_step_within_the_backward_pass_is_a_capture_and_a_step() {
    check_stream(micro_adam(0.1));
    check_stream(sign_ema(0.1));
    check_stream(chain((clip_per_example(0.5), adam(0.1))));
    check_stream(chain((
        clip_per_example(0.5).per_leaf(),
        median(),
        clip_by_global_norm(0.1),
        scale(-0.1),
    )));
}

#[test]
fn a_refused_step_within_the_backward_pass_gives_the_model_back_and_changes_nothing() {
    let mut optimizer = Optimizer::new(chain((variance(1), adam(0.1)))).unwrap();
    let model = Mlp::new(2, 3, 1, &device());
    let x = fixed([1, 2], 3, DType::F32, &device());
    let rejected = optimizer
        .step_on(model, |m| m.losses(x.clone()))
        .unwrap_err();
    assert!(
        rejected
            .error
            .to_string()
            .contains("needs at least 2 examples")
    );
    assert_eq!(optimizer.steps_taken(), 0);
    // A parameter outside the layers shows at the end of the pass, when statistics have been taken.
    let mut optimizer = Optimizer::new(adam(0.1)).unwrap();
    let x = fixed([4, 2], 3, DType::F32, &device());
    let rejected = optimizer
        .step_on(rejected.model, |m| {
            let regular = m.second.weight.val().sum();
            m.losses(x.clone()) + regular
        })
        .unwrap_err();
    assert!(matches!(&rejected.error, Error::NotCaptured { leaf } if leaf == "second.weight"));
    assert_eq!(optimizer.steps_taken(), 0);
    assert!(optimizer.step_on(rejected.model, |m| m.losses(x)).is_ok());
}

/// Shifts its input, and notes when the gradient of the shift is read and let go.
#[derive(Module, Debug)]
struct Noted {
    by: Param<Tensor<1>>,
    #[module(skip)]
    name: usize,
}

type Notes = Rc<RefCell<Vec<(usize, &'static str)>>>;

struct OnDrop(usize, Notes);
impl Drop for OnDrop {
    fn drop(&mut self) {
        self.1.borrow_mut().push((self.0, "freed"));
    }
}

#[test]
fn what_a_layer_kept_is_freed_leaf_by_leaf_within_the_backward_pass() {
    #[derive(Module, Debug)]
    struct Two {
        first: Noted,
        second: Noted,
    }
    let shift = |name| Noted {
        by: Param::from_tensor(Tensor::zeros([2], &device())),
        name,
    };
    let model = Two {
        first: shift(1),
        second: shift(2),
    };
    let notes = Notes::default();
    let forward = |layer: &Noted, x: Tensor<2>| {
        let z = x + layer.by.val().inner().unsqueeze();
        if !is_recording() {
            return z;
        }
        let kept = OnDrop(layer.name, notes.clone());
        let used = Use::new(&layer.by, move |d: Tensor<2>| {
            kept.1.borrow_mut().push((kept.0, "read"));
            Form::Tokens(d.unsqueeze_dim(1))
        });
        record(z, layer.by.val().device(), vec![used])
    };
    let x = fixed([3, 2], 1, DType::F32, &device());
    let mut optimizer = Optimizer::new(micro_adam(0.1)).unwrap();
    let updates = optimizer.update_on(
        &model,
        |m| per_example_loss(forward(&m.second, forward(&m.first, x))),
        &Extras::new(),
    );
    updates.unwrap();
    let order = [(2, "read"), (2, "freed"), (1, "read"), (1, "freed")];
    assert_eq!(*notes.borrow(), order);
}

#[test]
fn a_layer_that_records_the_wrong_form_is_named() {
    let model = Noted {
        by: Param::from_tensor(Tensor::zeros([2], &device())),
        name: 0,
    };
    let x = fixed([3, 2], 1, DType::F32, &device());
    let error = per_example_grads(&model, |m| {
        let z = x + m.by.val().inner().unsqueeze();
        let wrong = Use::new(&m.by, |d: Tensor<2>| Form::Tokens(d.unsqueeze_dim(0)));
        per_example_loss(record(z, m.by.val().device(), vec![wrong]))
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("the token form [1, 3, 2] for `by`"), "{text}");
    assert!(text.contains("3 examples and 2 elements"), "{text}");
}

fn looped_norms(model: &Everything) -> Vec<f64> {
    let (_, grads) = per_example_grads_looped(model, 5, Everything::losses).unwrap();
    let mut squares = vec![0.0; 5];
    let leaves: Vec<String> = grads.paths().map(str::to_owned).collect();
    for leaf in leaves {
        let Form::Dense(g) = grads.form(&leaf).unwrap().clone() else {
            unreachable!("looped gradients are dense")
        };
        for (sum, row) in squares
            .iter_mut()
            .zip(numbers(g.clone()).chunks(g.dims()[1]))
        {
            *sum += row.iter().map(|x| x * x).sum::<f64>();
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

#[test]
fn norms_in_one_backward_pass_are_those_of_the_examples_one_at_a_time() {
    let model = fill(Everything::new());
    let want = looped_norms(&model);
    for method in [
        NormMethod::Auto,
        NormMethod::Ghost,
        NormMethod::Simultaneous,
    ] {
        for budget in [0, 200, usize::MAX] {
            let settings = Settings::default().norm_method(method);
            let settings = settings.memory_budget(budget);
            let (_, norms) = per_example_norms(&model, |m| m.losses(0..5), settings).unwrap();
            assert_close(&numbers(norms), &want, 1e-12);
        }
    }
    let mlp = Mlp::new(2, 3, 1, &device());
    let nothing = Tensor::<2>::zeros(burn::tensor::Shape::new([0, 2]), &device());
    let (losses, norms) =
        per_example_norms(&mlp, |m| m.losses(nothing), Settings::default()).unwrap();
    assert_eq!((losses.dims(), norms.dims()), ([0], [0]));
}

#[test]
fn clipping_over_the_factors_equals_the_reweighted_losses() {
    let model = fill(Everything::new());
    let norms = looped_norms(&model);
    let middle = norms.iter().sum::<f64>() / 5.0;
    for bound in [0.0, middle, f64::INFINITY] {
        let (_, grads) = per_example_grads(&model, |m| m.losses(0..5)).unwrap();
        let clipped = chain((clip_per_example(bound), mean()));
        let mut optimizer = Optimizer::new(clipped).unwrap();
        let once = optimizer.update(&model, &grads).unwrap();
        let twice = reweighted_grads(
            &model,
            |m| m.losses(0..5),
            |norms| clip_weights(norms, bound),
            Settings::default(),
        )
        .unwrap();
        assert_close(&numbers(twice.norms.clone()), &norms, 1e-12);
        let words = twice.grads.get::<2>(model.words.weight.id).unwrap();
        let want = numbers(words.inner());
        assert_close(
            &numbers(once.leaf::<2>("words.weight").unwrap()),
            &want,
            1e-12,
        );
        let pixels = twice.grads.get::<4>(model.pixels.weight.id).unwrap();
        let want = numbers(pixels.inner());
        assert_close(
            &numbers(once.leaf::<4>("pixels.weight").unwrap()),
            &want,
            1e-12,
        );
        let gamma = twice.grads.get::<1>(model.norm.gamma.id).unwrap();
        let want = numbers(gamma.inner());
        assert_close(
            &numbers(once.leaf::<1>("norm.gamma").unwrap()),
            &want,
            1e-12,
        );
    }
}

#[test]
fn weights_by_norm_follow_clip_per_example_at_the_edges() {
    let norms = Tensor::<1>::from_floats([0.0, 0.5, 2.0, f32::INFINITY, f32::NAN], &device());
    let weights = numbers(clip_weights(norms.clone(), 1.0).inner());
    assert_eq!(weights[..4], [1.0, 1.0, 0.5, 0.0]);
    assert!(weights[4].is_nan());
    assert_eq!(
        numbers(clip_weights(norms, 0.0).inner())[..3],
        [1.0, 0.0, 0.0]
    );
    let model = Mlp::new(2, 3, 1, &device());
    let x: Tensor<2> = fixed([4, 2], 3, DType::F32, &device());
    let weights = |_| Tensor::ones([2], &device());
    let error = reweighted_grads(
        &model,
        |m| m.losses(x.clone()),
        weights,
        Settings::default(),
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("2 weights for 4 examples")
    );
}

#[test]
fn gradients_of_a_builder_do_not_know_a_model_but_step_it() {
    let model = Mlp::new(1, 1, 1, &device());
    let ones = |shape: [usize; 3]| Tensor::<3>::ones(shape, &device());
    let grads = PerExampleGrads::builder()
        .leaf("first.weight", ones([2, 1, 1]))
        .leaf("first.bias", Tensor::<2>::ones([2, 1], &device()))
        .leaf("second.weight", ones([2, 1, 1]))
        .leaf("second.bias", Tensor::<2>::ones([2, 1], &device()))
        .build()
        .unwrap();
    assert!(
        Optimizer::new(adam(0.1))
            .unwrap()
            .step(model, grads)
            .is_ok()
    );
}
