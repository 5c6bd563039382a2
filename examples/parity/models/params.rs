//! The parameters of a case as layers.

use burn::module::Param;
use burn::tensor::Tensor;
use pergrad::nn::{Embedding, Linear};
use pergrad::transforms::runner::HostTree;

use super::place::Place;

/// The parameters of a case. The leaves of a model must have the names of the file, so whatever is not used, or has another name,
/// is missing among the gradients.
#[derive(Debug)]
pub(crate) struct Params<'a> {
    leaves: &'a HostTree,
    place: &'a Place,
}

impl<'a> Params<'a> {
    pub(crate) fn new(leaves: &'a HostTree, place: &'a Place) -> Self {
        Self { leaves, place }
    }

    /// A parameter that need not be there.
    pub(crate) fn optional<const D: usize>(
        &self,
        path: &str,
    ) -> Result<Option<Param<Tensor<D>>>, String> {
        let Some(leaf) = self.leaves.get(path) else {
            return Ok(None);
        };
        if leaf.shape.len() != D {
            return Err(format!("`{path}` has the shape {:?}", leaf.shape));
        }
        Ok(Some(Param::from_tensor(self.place.tensor(leaf))))
    }

    pub(crate) fn param<const D: usize>(&self, path: &str) -> Result<Param<Tensor<D>>, String> {
        let param = self.optional(path)?;
        param.ok_or_else(|| format!("the case has no parameter `{path}`"))
    }

    pub(crate) fn linear(&self, name: &str) -> Result<Linear, String> {
        Ok(Linear {
            weight: self.param(&format!("{name}.weight"))?,
            bias: self.optional(&format!("{name}.bias"))?,
        })
    }

    /// A linear layer that need not be there.
    pub(crate) fn optional_linear(&self, name: &str) -> Result<Option<Linear>, String> {
        let there = self.leaves.contains_key(&format!("{name}.weight"));
        there.then(|| self.linear(name)).transpose()
    }

    pub(crate) fn embedding(&self, name: &str) -> Result<Embedding, String> {
        let weight = self.param(&format!("{name}.weight"))?;
        Ok(Embedding { weight })
    }
}
