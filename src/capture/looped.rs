//! One example at a time: slow, and right for every model.

use std::ops::Range;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

use super::tape;
use crate::error::Error;
use crate::grads::form::Form;
use crate::grads::{LeafGrads, PerExampleGrads};
use crate::model::{self, ModelLeaves};

/// Runs `losses` for one example after the other and gives back the losses `[B]` with the gradient of each of them.
///
/// The closure gets a range of examples, always of length 1 here, and returns their losses, `[1]`. It works for every model,
/// burn's own layers included, at the price of B forward and backward passes; [`per_example_grads`](crate::per_example_grads)
/// needs one.
///
/// # Errors
/// A model without trained parameters, or a closure that does not return one loss or losses that do not depend on the parameters.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::per_example_grads_looped;
///
/// let device = Device::default().autodiff();
/// let model = LinearConfig::new(1, 1).with_bias(false).init(&device); // burn's own layer
/// let x = Tensor::<2>::from_floats([[1.0], [2.0]], &device);
/// let (_, grads) = per_example_grads_looped(&model, 2, |m, examples| {
///     m.forward(x.clone().slice([examples])).reshape([1])
/// })
/// .unwrap();
/// let g = grads.leaf::<3>("weight").unwrap();
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [1.0, 2.0]);
/// ```
pub fn per_example_grads_looped<M: Module>(
    model: &M,
    examples: usize,
    losses: impl Fn(&M, Range<usize>) -> Tensor<1>,
) -> Result<(Tensor<1>, PerExampleGrads), Error> {
    if tape::is_recording() {
        // The layers would record their weights instead of tracking them, and every gradient would be missing.
        return Err(Error::Nested);
    }
    let leaves = ModelLeaves::of(model)?;
    if leaves.ids.is_empty() {
        return Err(Error::NothingTrained);
    }
    let values = model::rows(model, &leaves);
    if examples == 0 {
        let losses = Tensor::zeros([0], (&values[0].device(), values[0].dtype()));
        return Ok((losses, PerExampleGrads::empty(model, &leaves)?));
    }
    let mut all_losses = Vec::with_capacity(examples);
    let mut all_rows: Vec<Vec<Tensor<2>>> = vec![Vec::with_capacity(examples); leaves.ids.len()];
    let mut tracked = false;
    for example in 0..examples {
        let loss = losses(model, example..example + 1);
        if loss.dims() != [1] {
            let losses = loss.dims()[0];
            return Err(Error::LoopedLossCount { losses });
        }
        // An example whose loss does not depend on the parameters has the gradient 0, if others have another.
        tracked |= loss.is_tracked();
        let rows = if loss.is_tracked() {
            gradients(model, &leaves, &loss.backward())
        } else {
            vec![None; leaves.ids.len()]
        };
        for (at, row) in rows.into_iter().enumerate() {
            all_rows[at].push(row.unwrap_or_else(|| values[at].zeros_like()));
        }
        all_losses.push(loss.inner());
    }
    if !tracked {
        return Err(Error::LossNotTracked);
    }
    let entries = leaves.tree.leaves().iter().zip(&leaves.ids);
    let entries = entries.zip(all_rows);
    let entries = entries.map(|((info, id), rows)| {
        let form = Form::Dense(Tensor::cat(rows, 0));
        LeafGrads::new(info.path.clone(), Some(*id), &info.shape, form)
    });
    let grads = PerExampleGrads::new(entries.collect())?;
    Ok((Tensor::cat(all_losses, 0), grads))
}

/// The ordinary gradient of each leaf as a row `[1, P]`.
fn gradients<M: Module>(
    model: &M,
    leaves: &ModelLeaves,
    grads: &Gradients,
) -> Vec<Option<Tensor<2>>> {
    struct Read<'a> {
        leaves: &'a ModelLeaves,
        grads: &'a Gradients,
        /// The places of a tied parameter hold one tensor, so its gradient is the same at each.
        rows: Vec<Option<Tensor<2>>>,
    }
    impl ModuleVisitor for Read<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(at) = self.leaves.position(param.id)
                && let Some(grad) = param.val().grad(self.grads)
            {
                let size = grad.shape().num_elements();
                self.rows[at] = Some(model::reshape(grad, [1, size]));
            }
        }
    }
    let mut visitor = Read {
        leaves,
        grads,
        rows: vec![None; leaves.ids.len()],
    };
    model.visit(&mut visitor);
    visitor.rows
}
