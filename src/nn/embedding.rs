//! The embedding.

use burn::module::{Module, Param};
use burn::nn::{self, EmbeddingConfig};
use burn::tensor::{Device, Int, Tensor};

use super::untracked::{trained, untracked};
use crate::capture::tape::{self, Use, by_token};
use crate::error::Error;
use crate::grads::form::Form;

/// A table of V vectors, as [`burn::nn::Embedding`].
///
/// # Shapes
/// `weight [n_embedding, d_model]`; input `[B, T]`, output `[B, T, d_model]`.
///
/// # Forms
/// | use | form |
/// |--|--|
/// | [`forward`](Self::forward) | gather: `ids [B, T]` and `d [B, T, d_model]` |
/// | [`attend`](Self::attend) | outer: `d [B, T, n_embedding]` and the input `[B, T, d_model]` |
/// | both, a tied embedding | dense, `[B, n_embedding d_model]` |
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | one id several times in an example | its gradients add up |
/// | an id that does not occur | gradient zero |
/// | a padding index | burn's layer has none: leave the padded places out of the losses, and their ids get gradient zero |
///
/// # Example
/// ```
/// use burn::nn::EmbeddingConfig;
/// use burn::tensor::{Device, Int, Tensor};
/// use pergrad::{nn::Embedding, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let layer = Embedding::new(&EmbeddingConfig::new(3, 1), &device);
/// let ids = Tensor::<2, Int>::from_ints([[0, 0], [2, 1]], &device);
/// let (_, grads) = per_example_grads(&layer, |m| m.forward(ids).sum_dim(1).flatten(0, 2)).unwrap();
/// let g = grads.leaf::<3>("weight").unwrap(); // [B, V, 1]
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [2.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
/// ```
#[derive(Module, Debug)]
pub struct Embedding {
    /// `[n_embedding, d_model]`.
    pub weight: Param<Tensor<2>>,
}

impl Embedding {
    /// A layer of burn's configuration.
    pub fn new(config: &EmbeddingConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The rows of the ids, `[B, T] -> [B, T, d_model]`.
    pub fn forward(&self, input: Tensor<2, Int>) -> Tensor<3> {
        let mut layer = nn::Embedding::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(input);
        }
        layer.weight = untracked(&self.weight);
        let z = layer.forward(input.clone());
        let Some(weight) = trained(Some(&self.weight)) else {
            return z;
        };
        let (ids, rows) = (input.inner(), weight.dims()[0]);
        let gather = Use::new(weight, move |d| Form::Gather { ids, d, rows });
        tape::record(z, weight.val().device(), vec![gather])
    }

    /// The products with every row, `[B, .., d_model] -> [B, .., n_embedding]`: the logits of a language model whose output
    /// layer is tied to its embedding.
    ///
    /// # Panics
    /// If the last axis of `input` is not `d_model`.
    pub fn attend<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let product = |weight: Tensor<2>| {
            burn::tensor::module::linear(input.clone(), weight.transpose(), None)
        };
        if !tape::is_recording() {
            return product(self.weight.val());
        }
        if D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "Embedding" });
            return product(self.weight.val());
        }
        let z = product(untracked(&self.weight).val());
        let Some(weight) = trained(Some(&self.weight)) else {
            return z;
        };
        let right = by_token(input.inner());
        let outer = Use::new(weight, move |d: Tensor<D>| Form::Outer {
            left: by_token(d),
            right,
        });
        tape::record(z, weight.val().device(), vec![outer])
    }
}

same_fields!(nn::Embedding, Embedding { weight });
