//! Updates: what an optimizer wants to add to the parameters.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::error::Error;
use crate::model::{self, ModelLeaves, burn_dtype};

/// What an optimizer wants to add to the parameters, one tensor for each trained leaf.
#[derive(Clone, Debug)]
pub struct Updates {
    leaves: ModelLeaves,
    /// `[1, P]` in the dtype of the computation.
    rows: Vec<Tensor<2>>,
}

impl Updates {
    pub(crate) fn new(leaves: ModelLeaves, rows: Vec<Tensor<2>>) -> Self {
        Self { leaves, rows }
    }

    /// Adds the updates to the parameters of the model they were made for. Other parameters stay as they are. The sum is taken in
    /// the dtype of the computation and rounded once to that of the parameter.
    pub fn apply<M: Module>(self, model: M) -> M {
        let (model, values) = model::take_rows(model, &self.leaves);
        let rows = values.into_iter().zip(self.rows);
        // A model that has only some of the leaves keeps the others' updates out.
        let rows = rows.map(|(value, update)| Some(value?.cast(update.dtype()) + update));
        model.fill(rows.collect())
    }

    /// The update of a leaf in the dtype of its parameter, `[..p]`.
    ///
    /// # Errors
    /// A path that does not exist, or another rank.
    pub fn leaf<const D: usize>(&self, path: &str) -> Result<Tensor<D>, Error> {
        let tree = &self.leaves.tree;
        let at = tree.position(path).ok_or_else(|| Error::NoLeaf {
            leaf: path.to_owned(),
            known: tree.paths(),
        })?;
        let leaf = &tree.leaves()[at];
        let shape: [usize; D] = leaf.shape[..].try_into().map_err(|_| Error::LeafRank {
            leaf: path.to_owned(),
            shape: leaf.shape.clone(),
            rank: D,
        })?;
        let update = model::reshape(self.rows[at].clone(), shape);
        Ok(update.cast(burn_dtype(leaf.dtype)))
    }
}
