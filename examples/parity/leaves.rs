//! The leaves of a case as the parameters of a model, in an order of their own.

use pergrad::transforms::runner::{HostTensor, HostTree};
use pergrad::transforms::{Dtype, LeafInfo, ParamTree};
use serde_json::Value;

use super::golden::number;

/// The tree of these parameters, in the reverse order of their names: whoever sorts leaves where the order of the tree
/// counts, as in metrics, is found out.
pub(crate) fn param_tree(params: &HostTree, dtype: Dtype) -> Result<ParamTree, String> {
    let leaves = params.iter().rev().map(|(path, tensor)| LeafInfo {
        path: path.clone(),
        shape: tensor.shape.clone(),
        dtype,
    });
    ParamTree::new(leaves.collect()).map_err(|e| e.to_string())
}

/// Zeros for the parameters that per-example gradients belong to.
pub(crate) fn zeros_below(grads: &HostTree) -> HostTree {
    let leaves = grads.iter().map(|(path, grad)| {
        let shape = grad.shape.get(1..).unwrap_or_default();
        (path.clone(), HostTensor::zeros(shape))
    });
    leaves.collect()
}

/// A number, numbers, rows of numbers, or one of them for each leaf, as a metric has them: the leaves outermost, in the order of the tree.
pub(crate) fn in_order(value: &Value, tree: &ParamTree) -> Result<Vec<f64>, String> {
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| in_order(item, tree));
            Ok(items.collect::<Result<Vec<_>, String>>()?.concat())
        }
        Value::Object(leaves) => {
            let leaves = tree.leaves().iter().map(|leaf| {
                let value = leaves.get(&leaf.path);
                in_order(value.ok_or("a leaf is missing")?, tree)
            });
            Ok(leaves.collect::<Result<Vec<_>, String>>()?.concat())
        }
        value => Ok(vec![number(value)?]),
    }
}
