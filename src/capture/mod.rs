//! Capture: per-example gradients by surgery of the autodiff graph.
//!
//! An ordinary backward pass computes, for a linear layer, the gradient `d [B, O]` at the layer's output and from it
//! `a^T d`, the weight gradient already summed over the examples. The examples are apart until that last product. So inside
//! [`per_example_grads`] a layer of [`pergrad::nn`](crate::nn)
//!
//! 1. uses its weight untracked, so that the backward pass does not compute the summed product,
//! 2. sends its output through `tap`, an identity whose backward pass also announces `d`,
//! 3. records on the `tape` what it takes to make `g_b = a_b^T d_b` of them.
//!
//! When the backward pass comes by, `d` *arrives*, and as soon as all uses of a parameter have, its gradients are complete: whoever
//! asked for them gets them then and there, within the pass.
//!
//! The closure returns the losses `[B]`, never their mean, so a factor B cannot go wrong. A trained parameter that was used
//! outside these layers gets an ordinary gradient, which is how it is noticed, and is an error that names it.
//!
//! Inside the closure the layers' weights are out of reach of an ordinary `backward`; take other gradients before or after.
//!
//! # Which one when
//! | | what it costs | right when |
//! |--|--|--|
//! | [`Optimizer::step_on`](crate::Optimizer::step_on) | one forward, one backward pass; the factors of one leaf at a time, if the chain stays within leaves | training |
//! | [`per_example_grads`] | the same, with the factors of every leaf held until the step | the gradients are looked at, or stepped later |
//! | [`per_example_norms`] | the same, without the summed weight gradients; B numbers | only norms are wanted: outliers, sampling |
//! | [`reweighted_grads`] | two forward, two backward passes; B numbers between them | weights by norm, where the activations of one pass are all that fits |
//! | [`per_token_grads`] | as `per_example_grads`, with tokens apart everywhere | a statistic over tokens is wanted |
//! | [`Form::into_dense`](crate::grads::form::Form::into_dense), the *vectorised* form: one batched product | `[B, P]` of a leaf | the leaf is small, or has as many tokens as its width: then `[B, P]` is no larger than its factors, and the executor takes it by itself |
//! | [`per_example_grads_looped`], the *looped* form | B forward and backward passes; `[B, P]` of every leaf | a model with layers that pergrad does not have; the oracle of [`check_per_example_grads`] |
//!
//! A [memory budget](crate::Settings) decides where a value that its factors do not tell is made in full, and where some columns at a
//! time.

pub(crate) mod arrivals;
mod check;
mod looped;
mod norms;
pub(crate) mod pass;
mod places;
mod reweighted;
pub mod tape;

use std::collections::HashMap;

use burn::module::Module;
use burn::tensor::Tensor;

pub(crate) use check::numbers;
pub use check::{Agreement, check_per_example_grads};
pub use looped::per_example_grads_looped;
pub use norms::per_example_norms;
pub use reweighted::{Reweighted, clip_weights, reweighted_grads};

use crate::error::Error;
use crate::grads::form::Form;
use crate::grads::{LeafGrads, PerExampleGrads};
use crate::model::ModelLeaves;
use pass::{Receive, Tokens};

/// Runs `losses` on the model and gives back the losses `[B]` with the gradient of each of them for every trained parameter.
///
/// The model is built of the layers of [`pergrad::nn`](crate::nn) as far as it has trained parameters; everything without
/// parameters is burn's. Frozen parameters are left out; trained ones that were not used get zeros.
///
/// # Shapes
/// The closure returns one loss for each example, `[B]`; the batch is axis 0 of every layer's input.
///
/// # Errors
/// A trained parameter used outside pergrad's layers; losses that are not one for each example; losses that do not depend on
/// the parameters; a capture inside a capture. Each names the parameter or layer, and the way out.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::Linear, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let model = Linear::new(&LinearConfig::new(1, 1).with_bias(false), &device);
/// let x = Tensor::<2>::from_floats([[1.0], [2.0]], &device);
/// let (losses, grads) = per_example_grads(&model, |m| m.forward(x).reshape([2])).unwrap();
/// assert_eq!(losses.dims(), [2]);
/// let g = grads.leaf::<3>("weight").unwrap(); // [B, 1, 1]
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [1.0, 2.0]);
/// ```
pub fn per_example_grads<M: Module>(
    model: &M,
    losses: impl FnOnce(&M) -> Tensor<1>,
) -> Result<(Tensor<1>, PerExampleGrads), Error> {
    collect(model, Tokens::Joined, losses)
}

/// The gradient of each token's share, as if each token were an example of its own: the losses `[B]` and gradients of `B T` examples,
/// where every parameter was used T times for each example.
///
/// A statistic over tokens is another one than over examples: `mean(square(g))` of the two differs as soon as T > 1 (arXiv
/// 2510.00236).
///
/// # Errors
/// Those of [`per_example_grads`], and a parameter that was used another number of times than the others, or in a way that adds tokens up
/// (a grouped convolution).
pub fn per_token_grads<M: Module>(
    model: &M,
    losses: impl FnOnce(&M) -> Tensor<1>,
) -> Result<(Tensor<1>, PerExampleGrads), Error> {
    let (losses, grads) = collect(model, Tokens::Apart, losses)?;
    Ok((losses, grads.per_token()?))
}

fn collect<M: Module>(
    model: &M,
    tokens: Tokens,
    losses: impl FnOnce(&M) -> Tensor<1>,
) -> Result<(Tensor<1>, PerExampleGrads), Error> {
    let leaves = ModelLeaves::of(model)?;
    let begin = |_| Ok(Collect::default());
    let (losses, mut forms) = pass::run(model, &leaves, tokens, losses, begin)?;
    let entries = leaves.tree.leaves().iter().zip(&leaves.ids).enumerate();
    let entries = entries.map(|(at, (info, id))| {
        let form = forms.0.remove(&at).expect("a pass gives every leaf");
        LeafGrads::new(info.path.clone(), Some(*id), &info.shape, form)
    });
    let grads = PerExampleGrads::new(entries.collect())?;
    Ok((losses, grads))
}

/// Keeps the gradients of every leaf.
#[derive(Default)]
struct Collect(HashMap<usize, Form>);

impl Receive for Collect {
    fn leaf(&mut self, at: usize, form: Form) {
        self.0.insert(at, form);
    }
}
