//! The family of second moments `a mu^2 + c s^2`, and training with one of its members.

use burn::module::Module;
use burn::tensor::{Int, Tensor};
use pergrad::prelude::*;
use pergrad::{Optimizer, per_example_grads};

use crate::transformer::Transformer;

/// A member of the family for a batch size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// The weight of the square of the mean.
    pub a: f64,
    /// The weight of the variance.
    pub c: f64,
}

/// The members that are tried for batches of `b`, from signal alone to noise alone.
///
/// From Adam on, where `c` is at least `a / B`, the second moment is a sum of squares. Below, the unbiased square of the mean may be negative
/// for a batch, and so may its average; where it is, it is clamped to 0 and `eps` alone divides.
///
/// Only `c / a` matters: a common factor `k` of both divides the update by `sqrt(k)`, as a smaller learning rate does (up to `eps`).
#[allow(clippy::cast_precision_loss)] // batch sizes
pub fn members(b: usize) -> [Member; 6] {
    let b = b as f64;
    let member = |name, a, c| Member { name, a, c };
    [
        member("MicroAdamMSQ (1, 0)", 1.0, 0.0),
        member("between (1, 1/4B)", 1.0, 0.25 / b),
        member("Adam (1, 1/B)", 1.0, 1.0 / b),
        member("between (1, 1/sqrt B)", 1.0, 1.0 / b.sqrt()),
        member("MicroAdam (1, 1)", 1.0, 1.0),
        member("MicroAdamVar (0, 1)", 0.0, 1.0),
    ]
}

/// Trains on the batches, one step for each, and gives back the mean loss on sequences that were held out. It is infinite if the training
/// came to numbers that are none.
///
/// With a bound the whole update, after preconditioner and learning rate, is clipped to a norm that makes the root of its mean
/// square `clip` learning rates.
///
/// # Errors
/// What the optimizer says.
#[allow(clippy::cast_precision_loss)] // sizes of models
pub fn train(
    mut model: Transformer,
    member: Member,
    learning_rate: f64,
    (clip, eps): (Option<f64>, f64),
    batches: &[Tensor<2, Int>],
    held_out: &Tensor<2, Int>,
) -> Result<f64, pergrad::Error> {
    let root = (model.num_params() as f64).sqrt();
    let bound = clip.map(|clip| clip_by_global_norm(clip * learning_rate * root));
    let direction = adam_interpolation(learning_rate, member.a, member.c).eps(eps);
    let mut optimizer = Optimizer::new(chain((direction, bound)))?;
    for batch in batches {
        let (losses, grads) = per_example_grads(&model, |m| m.losses(batch.clone()))?;
        if !losses.mean().into_scalar::<f32>().is_finite() {
            return Ok(f64::INFINITY);
        }
        model = optimizer.step(model, grads)?;
    }
    let loss = model.losses(held_out.clone()).mean().into_scalar::<f32>();
    Ok(if loss.is_finite() {
        f64::from(loss)
    } else {
        f64::INFINITY
    })
}
