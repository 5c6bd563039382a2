//! What is refused on the burn side, with the messages.

use burn::module::Module;
use burn::nn::LinearConfig;
use burn::tensor::{DType, Device, Tensor};
use pergrad::nn::Linear;
use pergrad::prelude::*;
use pergrad::{
    Extras, Optimizer, PerExampleGrads, check_per_example_grads, per_example_grads,
    per_example_grads_looped,
};

use crate::models::{Mlp, device, per_example_loss, random};

fn x() -> Tensor<2> {
    random([4, 3], DType::F32, &device())
}

fn mlp() -> Mlp {
    Mlp::new(3, 2, 2, &device())
}

/// A trained layer of burn's beside one of ours.
#[derive(Module, Debug)]
struct Mixed {
    ours: Linear,
    theirs: burn::nn::Linear,
}

#[test]
fn a_parameter_used_outside_the_layers_is_named() {
    let model = Mixed {
        ours: Linear::new(&LinearConfig::new(3, 2), &device()),
        theirs: LinearConfig::new(2, 2).init(&device()),
    };
    let error = per_example_grads(&model, |m| {
        per_example_loss(m.theirs.forward(m.ours.forward(x())))
    })
    .unwrap_err();
    insta::assert_snapshot!(error, @"`theirs.weight` is trained, but it was used outside pergrad's layers, so its per-example gradients are unknown: use the layer of the same name in `pergrad::nn`, freeze the parameter, or take `per_example_grads_looped`, which works for every model");

    // Half inside, half outside: the regulariser would be lost.
    let error = per_example_grads(&model.ours, |m| {
        per_example_loss(m.forward(x())) + m.weight.val().sum()
    })
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`weight` is trained, but it was used outside")
    );
}

#[test]
fn a_mean_in_place_of_the_losses_is_refused() {
    let error = per_example_grads(&mlp(), |m| m.losses(x()).mean()).unwrap_err();
    insta::assert_snapshot!(error, @"the closure returned 1 loss, but `first.weight` saw 4 examples: return one loss for each example (`[B]`), without taking their mean or sum");
    let error = per_example_grads_looped(&mlp(), 4, |m, _| m.losses(x())).unwrap_err();
    insta::assert_snapshot!(error, @"the closure got the range of one example, but returned 4 losses: slice the inputs by the range it gets, and return the losses of those examples only");
}

#[test]
fn losses_that_do_not_depend_on_the_model_are_refused() {
    let error = per_example_grads(&mlp(), |_| Tensor::zeros([4], &device())).unwrap_err();
    insta::assert_snapshot!(error, @"the losses do not depend on any trained parameter of the model: compute them inside the closure from the model it gets, on a device with autodiff");
}

#[test]
fn a_model_without_trained_parameters_is_refused() {
    let error = per_example_grads(&mlp().no_grad(), |m| m.losses(x())).unwrap_err();
    insta::assert_snapshot!(error, @"the model has no parameter that requires gradients: build it on `device.autodiff()` or call `model.train()` first, and unfreeze what is to be trained");
    let plain = Mlp::new(3, 2, 2, &Device::default());
    assert_eq!(
        per_example_grads(&plain, |m| m.losses(x())).unwrap_err(),
        error
    );
}

#[test]
fn a_capture_inside_a_capture_is_refused() {
    let model = mlp();
    let mut inner = None;
    per_example_grads(&model, |m| {
        inner = Some(per_example_grads(m, |m| m.losses(x())).unwrap_err());
        m.losses(x())
    })
    .unwrap();
    insta::assert_snapshot!(inner.unwrap(), @"per-example gradients are already being captured on this thread: take the inner ones before or after, not inside the closure");
}

#[test]
fn an_input_without_a_batch_axis_is_refused() {
    let layer = Linear::new(&LinearConfig::new(3, 1), &device());
    let row = Tensor::<1>::zeros([3], &device());
    let error = per_example_grads(&layer, |m| m.forward(row)).unwrap_err();
    insta::assert_snapshot!(error, @"`Linear` got an input of rank 1 while per-example gradients are captured: its axis 0 must be the batch, so give it the shape [B, ..]");
}

#[test]
fn losses_that_mix_examples_are_found_by_the_check() {
    let mixing = |m: &Mlp, b: std::ops::Range<usize>| {
        let y = m.forward(x().slice([b]));
        per_example_loss(y.clone() - y.mean_dim(0))
    };
    let error = check_per_example_grads(&mlp(), 4, mixing, 1e-5).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("captured and looped per-example gradients differ by")
    );
}

fn grads(examples: usize) -> PerExampleGrads {
    let device = Device::default();
    PerExampleGrads::builder()
        .leaf("weight", Tensor::<3>::ones([examples, 3, 1], &device))
        .leaf("bias", Tensor::<2>::ones([examples, 1], &device))
        .build()
        .unwrap()
}

fn layer() -> Linear {
    Linear::new(&LinearConfig::new(3, 1), &device())
}

#[test]
fn gradients_that_do_not_fit_the_model_are_refused_and_nothing_is_lost() {
    let mut optimizer = Optimizer::new(adam(0.1)).unwrap();
    let device = Device::default();
    let leaf = |path: &str, shape: [usize; 3]| {
        PerExampleGrads::builder().leaf(path, Tensor::<3>::ones(shape, &device))
    };
    let mut refuse = |grads: PerExampleGrads| optimizer.step(layer(), grads).unwrap_err();

    let missing = refuse(leaf("weight", [2, 3, 1]).build().unwrap());
    insta::assert_snapshot!(missing, @"leaf `bias` has no gradient: give one (zeros if it took no part in the loss), or leave the leaf out of the trained parameters");
    let unknown = refuse(leaf("wieght", [2, 3, 1]).build().unwrap());
    insta::assert_snapshot!(unknown, @"there is a gradient for `wieght`, but the model has no such leaf: it has `weight`, `bias`");
    let last = leaf("weight", [3, 1, 2]).leaf("bias", Tensor::<2>::ones([3, 1], &device));
    let last = refuse(last.build().unwrap());
    insta::assert_snapshot!(last, @"the gradient of `weight` must have the shape [B, 3, 1], but it has [3, 1, 2]: the batch must be axis 0, but it looks as if it were the last axis");
    let bf16 =
        leaf("weight", [2, 3, 1]).leaf("bias", Tensor::<2>::ones([2, 1], (&device, DType::BF16)));
    let bf16 = refuse(bf16.build().unwrap());
    insta::assert_snapshot!(bf16, @"the gradient of `bias` is bf16, but the parameter is f32: cast the gradient, or train the parameter in bf16");
    let empty = refuse(grads(0));
    insta::assert_snapshot!(empty, @"`adam.batch_mean` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
    assert_eq!(empty.grads.examples(), 0);

    // The state has not advanced, and what was handed in can be used again.
    assert_eq!(optimizer.steps_taken(), 0);
    optimizer.step(empty.model, grads(2)).unwrap();
}

#[test]
fn gradients_of_another_model_are_refused_by_their_parameters() {
    let (_, grads) = per_example_grads(&layer(), |m| per_example_loss(m.forward(x()))).unwrap();
    let rejected = Optimizer::new(sgd(0.1))
        .unwrap()
        .step(layer(), grads)
        .unwrap_err();
    assert!(
        rejected.to_string().contains("were taken of another model"),
        "{rejected}"
    );
}

#[test]
fn named_inputs_are_checked() {
    let mut optimizer = Optimizer::new(chain((scale_per_example("w"), sgd(0.1)))).unwrap();
    let weights = |n: usize| Tensor::<1>::ones([n], &Device::default());
    let mut refuse = |extras: Extras| optimizer.step_with(layer(), grads(2), &extras).unwrap_err();
    insta::assert_snapshot!(refuse(Extras::new()), @"the chain reads `w` at each step, but no input was given: add it to the extras of the step");
    insta::assert_snapshot!(refuse(Extras::new().per_example("w", weights(3))), @"`w` must have 2 numbers, but it has 3: an input for each example has as many as the batch has examples, any other has one");
    insta::assert_snapshot!(refuse(Extras::new().number("w", 1.0)), @"`w` must have 2 numbers, but it has 1: an input for each example has as many as the batch has examples, any other has one");
    insta::assert_snapshot!(refuse(Extras::new().number("loss", 1.0)), @"the chain reads `w` at each step, but only loss came: add it to the extras of the step");
    let both = Extras::new()
        .per_example("w", weights(2))
        .number("loss", 0.1);
    assert!(
        optimizer.step_with(layer(), grads(2), &both).is_ok(),
        "a number that nobody reads"
    );
}

#[test]
fn hyper_parameters_are_checked_by_name() {
    insta::assert_snapshot!(Optimizer::new(adam(-0.1)).unwrap_err(), @"`learning_rate` must be a finite number that is not negative, but it is -0.1");
    insta::assert_snapshot!(Optimizer::new(adam(f64::NAN)).unwrap_err(), @"`learning_rate` must be a finite number that is not negative, but it is NaN");
    let mut optimizer = Optimizer::new(adam(0.1)).unwrap();
    insta::assert_snapshot!(optimizer.set_hyper("b2", 1.0).unwrap_err(), @"`b2` must be a number of at least 0 and below 1, but it is 1");
    insta::assert_snapshot!(optimizer.set_hyper("beta", 1.0).unwrap_err(), @"there is no hyper-parameter `beta`: this chain has `b1`, `b2`, `eps`, `learning_rate`");
}

#[test]
fn a_model_with_other_leaves_is_refused_once_there_is_state() {
    let mut optimizer = Optimizer::new(adam(0.1)).unwrap();
    optimizer.step(layer(), grads(2)).unwrap();
    let wider = Linear::new(&LinearConfig::new(4, 1).with_bias(false), &device());
    let g = Tensor::<3>::ones([2, 4, 1], &Device::default());
    let g = PerExampleGrads::builder()
        .leaf("weight", g)
        .build()
        .unwrap();
    insta::assert_snapshot!(optimizer.step(wider, g).unwrap_err(), @r"
the state does not fit:
  `ema.moment` of leaf `weight` has the shape [3, 1], but [4, 1] is needed
  `ema_2.moment` of leaf `weight` has the shape [3, 1], but [4, 1] is needed
  `ema.moment` of leaf `bias` is extra
  `ema_2.moment` of leaf `bias` is extra
load the state that was saved for this chain and model, or go on with a new optimizer
");
}

#[test]
fn a_state_of_another_chain_is_refused() {
    let model = layer();
    let mut from = Optimizer::new(sign_sgd(0.1).beta(0.9)).unwrap();
    let state = from.state(&model).unwrap();
    let mut to = Optimizer::new(sign_ema(0.1)).unwrap();
    insta::assert_snapshot!(to.load(&model, &state).unwrap_err(), @r"
the state does not fit:
  it belongs to another chain: the state has `%1 = sign %0 : [P]`, this chain has `%1 = sub 1 $beta : []`
load the state that was saved for this chain and model, or go on with a new optimizer
");
}
