//! Steps whose inputs do not fit.

use pergrad_transforms::prelude::*;
use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
use pergrad_transforms::{Aggregated, ParamTree, PerExample, Program};

use crate::model::{add_leaf, leaf, step};

fn tree() -> ParamTree {
    ParamTree::new(vec![leaf("a", &[2, 3]), leaf("b", &[4])]).unwrap()
}

fn good() -> StepInput {
    let mut input = StepInput::default();
    add_leaf(&mut input, "a", &[2, 3], 5, vec![1.0; 30]);
    add_leaf(&mut input, "b", &[4], 5, vec![1.0; 20]);
    input
}

fn refused(program: &Program, change: impl FnOnce(&mut StepInput)) -> String {
    let mut input = good();
    change(&mut input);
    let mut reference = Reference::<f64>::new(program, &tree()).unwrap();
    reference.step(&input).unwrap_err().to_string()
}

fn put(input: &mut StepInput, path: &str, shape: &[usize]) {
    input.grads.insert(path.into(), HostTensor::zeros(shape));
}

#[test]
fn gradients_of_another_shape_are_refused_with_a_guess_at_the_cause() {
    let mean = program(&mean()).unwrap();
    insta::assert_snapshot!(refused(&mean, |i| put(i, "a", &[2, 3])), @"the gradient of `a` must have the shape [B, 2, 3], but it has [2, 3]: this looks like an aggregated gradient; give one for each example, or use an optimizer for aggregated gradients");
    insta::assert_snapshot!(refused(&mean, |i| put(i, "a", &[2, 3, 5])), @"the gradient of `a` must have the shape [B, 2, 3], but it has [2, 3, 5]: the batch must be axis 0, but it looks as if it were the last axis");
    insta::assert_snapshot!(refused(&mean, |i| put(i, "a", &[5, 3, 2])), @"the gradient of `a` must have the shape [B, 2, 3], but it has [5, 3, 2]");
    insta::assert_snapshot!(refused(&mean, |i| put(i, "a", &[])), @"the gradient of `a` must have the shape [B, 2, 3], but it has []");
    let aggregated = program_over::<Aggregated, _>(&identity()).unwrap();
    insta::assert_snapshot!(refused(&aggregated, |_| ()), @"the gradient of `a` must have the shape [2, 3], but it has [5, 2, 3]: this looks like a per-example gradient; reduce over the examples first, or use an optimizer for per-example gradients");
    insta::assert_snapshot!(refused(&aggregated, |i| put(i, "a", &[6])), @"the gradient of `a` must have the shape [2, 3], but it has [6]");
}

#[test]
fn leaves_that_do_not_fit_the_model_are_refused() {
    let mean = program(&mean()).unwrap();
    insta::assert_snapshot!(refused(&mean, |i| put(i, "b", &[6, 4])), @"leaf `b` has 6 examples (axis 0), but leaf `a` has 5: the batch is axis 0 of every leaf, and all must have the same length");
    insta::assert_snapshot!(refused(&mean, |i| put(i, "c", &[5, 1])), @"there is a gradient for `c`, but the model has no such leaf: it has `a`, `b`");
    insta::assert_snapshot!(refused(&mean, |i| { i.grads.remove("a"); }), @"leaf `a` has no gradient: give one (zeros if it took no part in the loss), or leave the leaf out of the trained parameters");
    let twice = ParamTree::new(vec![leaf("a", &[1]), leaf("a", &[2])]);
    insta::assert_snapshot!(twice.unwrap_err(), @"two leaves have the path `a`: give each leaf a path of its own");
}

#[test]
fn parameters_that_do_not_fit_the_model_are_refused_as_parameters() {
    let mean = program(&mean()).unwrap();
    insta::assert_snapshot!(refused(&mean, |i| { i.params.remove("a"); }), @"parameter `a`: expected the shape [2, 3], but got nothing: give each step all parameters of the model, with the shapes it was built with");
    insta::assert_snapshot!(refused(&mean, |i| {
        i.params.insert("b".into(), HostTensor::zeros([5]));
    }), @"parameter `b`: expected the shape [4], but got the shape [5]: give each step all parameters of the model, with the shapes it was built with");
    insta::assert_snapshot!(refused(&mean, |i| {
        i.params.insert("c".into(), HostTensor::zeros([5]));
    }), @"parameter `c`: expected no such parameter, but got the shape [5]: give each step all parameters of the model, with the shapes it was built with");
}

#[test]
fn a_batch_that_is_too_small_is_refused() {
    let empty = |input: &mut StepInput| {
        put(input, "a", &[0, 2, 3]);
        put(input, "b", &[0, 4]);
    };
    insta::assert_snapshot!(refused(&program(&adam(0.1)).unwrap(), empty), @"`adam.batch_mean` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
    insta::assert_snapshot!(refused(&program(&trimmed_mean(3)).unwrap(), |_| ()), @"`trimmed_mean` needs at least 7 examples, but the batch has 5: skip this batch, or make it larger");
    let endless = program(&trimmed_mean(usize::MAX)).unwrap();
    assert!(
        endless.check_batch(usize::MAX - 1).is_err(),
        "the count does not overflow"
    );
    let endless = program(&variance(usize::MAX)).unwrap();
    assert!(
        endless.check_batch(usize::MAX - 1).is_err(),
        "the count does not overflow"
    );
}

/// Gradients times a loss, which is one number.
#[derive(Clone, Debug)]
struct TimesLoss;

impl Transform<PerExample> for TimesLoss {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        x * cx.extra("loss")
    }
}

#[test]
fn named_inputs_that_do_not_fit_are_refused() {
    let weighted = program(&scale_per_example("weights").then(mean())).unwrap();
    let give = |name: &'static str, values: Vec<f64>| {
        move |input: &mut StepInput| {
            input.extras.insert(name.to_owned(), values);
        }
    };
    insta::assert_snapshot!(refused(&weighted, |_| ()), @"the chain reads `weights` at each step, but no input was given: add it to the extras of the step");
    insta::assert_snapshot!(refused(&weighted, give("weights", vec![1.0; 4])), @"`weights` must have 5 numbers, but it has 4: an input for each example has as many as the batch has examples, any other has one");
    insta::assert_snapshot!(refused(&weighted, give("wieghts", vec![1.0; 5])), @"the chain reads `weights` at each step, but only wieghts came: add it to the extras of the step");
    let times_loss = program(&TimesLoss.then(mean())).unwrap();
    insta::assert_snapshot!(refused(&times_loss, give("loss", vec![1.0; 5])), @"`loss` must have 1 number, but it has 5: an input for each example has as many as the batch has examples, any other has one");
    let both = program(&chain((scale_per_example("loss"), TimesLoss, mean())));
    insta::assert_snapshot!(both.unwrap_err(), @"`times_loss` reads `loss` as another kind of input than an earlier link, which reads it as one number for each example: give one of them another name");
}

#[test]
fn a_model_without_parameters_has_nothing_to_update() {
    let nothing = StepInput::default();
    let clipped = chain((
        clip_per_example(1.0),
        sum(),
        ema(0.9),
        clip_by_global_norm(1.0),
    ));
    let output = step::<f64>(&program(&clipped).unwrap(), &nothing);
    assert!(output.updates.is_empty());
    assert_eq!(output.metrics["clip_per_example.num_clipped"], [0.0]);
    let aggregated = program_over::<Aggregated, _>(&adamw(0.1)).unwrap();
    assert!(step::<f32>(&aggregated, &nothing).updates.is_empty());
}
