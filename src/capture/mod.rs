//! Capture: per-example gradients by surgery of the autodiff graph.
//!
//! An ordinary backward pass computes, for a linear layer, the gradient `d [B, O]` at the layer's output and from it
//! `a^T d`, the weight gradient already summed over the examples. The examples are apart until that last product. So inside
//! [`per_example_grads`] a layer of [`pergrad::nn`](crate::nn)
//!
//! 1. uses its weight untracked, so that the backward pass does not compute the summed product,
//! 2. sends its output through `tap`, an identity whose backward pass also hands `d` to a *sink*,
//! 3. records on the `tape` what it takes to make `g_b = a_b^T d_b` of them.
//!
//! The closure returns the losses `[B]`, never their mean, so a factor B cannot go wrong. A trained parameter that was used
//! outside these layers gets an ordinary gradient, which is how it is noticed, and is an error that names it.
//!
//! Inside the closure the layers' weights are out of reach of an ordinary `backward`; take other gradients before or after.
//!
//! [`per_example_grads_looped`] runs one example at a time; it works for every model and is the oracle of
//! [`check_per_example_grads`].

mod check;
mod looped;
pub mod tape;

use std::collections::HashSet;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::tensor::{Gradients, Tensor};

pub(crate) use check::numbers;
pub use check::{Agreement, check_per_example_grads};
pub use looped::per_example_grads_looped;

use crate::error::Error;
use crate::grads::form::Form;
use crate::grads::{LeafGrads, PerExampleGrads};
use crate::model::{self, ModelLeaves};
use tape::Scope;

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
    let leaves = ModelLeaves::of(model)?;
    if leaves.ids.is_empty() {
        return Err(Error::NothingTrained);
    }
    let scope = Scope::enter()?;
    let losses = losses(model);
    let mut records = scope.finish()?;
    let examples = losses.dims()[0];
    if !losses.is_tracked() && examples > 0 {
        return Err(Error::LossNotTracked);
    }
    let paths = model::paths(&leaves);
    // Another model in the closure is none of our business.
    records.retain(|record| paths.contains_key(&record.param));
    if let Some(record) = records.iter().find(|record| record.examples != examples) {
        return Err(Error::LossCount {
            losses: examples,
            leaf: paths[&record.param].clone(),
            examples: record.examples,
        });
    }
    if examples == 0 {
        return Ok((losses.inner(), PerExampleGrads::empty(model, &leaves)?));
    }
    let grads = losses.clone().sum().backward();
    if let Some(id) = tracked_outside(model, &leaves, &grads) {
        let leaf = paths[&id].clone();
        return Err(Error::NotCaptured { leaf });
    }
    if records.is_empty() {
        return Err(Error::LossNotTracked);
    }
    let mut uses: Vec<Vec<Form>> = vec![Vec::new(); leaves.ids.len()];
    let places = Places::of(model);
    for record in records {
        if !places.holds(record.param, record.place.address)
            && !is_in(model, record.param, &(record.place.probe)())
        {
            let leaf = paths[&record.param].clone();
            return Err(Error::AnotherCopy { leaf });
        }
        let at = leaves.position(record.param).expect("a leaf of the model");
        uses[at].extend((record.read)(&grads));
    }
    let values = model::rows(model, &leaves);
    let entries = leaves.tree.leaves().iter().zip(&leaves.ids);
    let entries = entries.zip(uses).zip(values);
    let entries = entries.map(|(((info, id), uses), value)| {
        let form = Form::join(uses).unwrap_or_else(|| {
            let options = (&value.device(), value.dtype());
            Form::Dense(Tensor::zeros([examples, info.size()], options))
        });
        LeafGrads::new(info.path.clone(), Some(*id), &info.shape, form)
    });
    let grads = PerExampleGrads::new(entries.collect())?;
    Ok((losses.inner(), grads))
}

/// Where the parameters of a model lie in memory.
#[derive(Default)]
struct Places(HashSet<(ParamId, usize)>);

impl Places {
    fn of<M: Module>(model: &M) -> Self {
        let mut places = Self::default();
        model.visit(&mut places);
        places
    }

    fn holds(&self, id: ParamId, address: usize) -> bool {
        self.0.contains(&(id, address))
    }
}

impl ModuleVisitor for Places {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.insert((param.id, std::ptr::from_ref(param).addr()));
    }
}

/// Whether a parameter of the model is the tensor that these gradients reach.
fn is_in<M: Module>(model: &M, id: ParamId, grads: &Gradients) -> bool {
    struct Find<'a> {
        id: ParamId,
        grads: &'a Gradients,
        found: bool,
    }
    impl ModuleVisitor for Find<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.found |= param.id == self.id && param.val().grad(self.grads).is_some();
        }
    }
    let mut visitor = Find {
        id,
        grads,
        found: false,
    };
    model.visit(&mut visitor);
    visitor.found
}

/// The first trained parameter that got an ordinary gradient.
fn tracked_outside<M: Module>(
    model: &M,
    leaves: &ModelLeaves,
    grads: &Gradients,
) -> Option<ParamId> {
    struct Outside<'a> {
        leaves: &'a ModelLeaves,
        grads: &'a Gradients,
        found: Option<ParamId>,
    }
    impl ModuleVisitor for Outside<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let trained = self.leaves.position(param.id).is_some();
            if trained && self.found.is_none() && param.val().grad(self.grads).is_some() {
                self.found = Some(param.id);
            }
        }
    }
    let mut visitor = Outside {
        leaves,
        grads,
        found: None,
    };
    model.visit(&mut visitor);
    visitor.found
}
