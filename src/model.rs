//! The trained parameters of a burn model, as a tree of leaves.

use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::container::TensorContainer;
use burn::tensor::{DType, Tensor};
use pergrad_transforms::{Dtype, LeafInfo, ParamTree};

use crate::error::Error;

/// The trained leaves of a model. A parameter that stands at two places (tied) is one leaf, under its first path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelLeaves {
    pub(crate) tree: ParamTree,
    pub(crate) ids: Vec<ParamId>,
}

impl ModelLeaves {
    /// The leaves that require gradients, in the order of the module.
    pub(crate) fn of<M: Module>(model: &M) -> Result<Self, Error> {
        let mut visitor = Collect::default();
        model.visit(&mut visitor);
        if let Some(error) = visitor.error {
            return Err(error);
        }
        Ok(Self {
            tree: ParamTree::new(visitor.leaves)?,
            ids: visitor.ids,
        })
    }

    /// The position of a parameter.
    pub(crate) fn position(&self, id: ParamId) -> Option<usize> {
        self.ids.iter().position(|known| *known == id)
    }
}

#[derive(Default)]
struct Collect {
    path: Vec<String>,
    leaves: Vec<LeafInfo>,
    ids: Vec<ParamId>,
    error: Option<Error>,
}

impl ModuleVisitor for Collect {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !param.is_require_grad() || self.ids.contains(&param.id) {
            return;
        }
        let value = param.val();
        let path = self.path.join(".");
        match dtype(&path, value.dtype()) {
            Ok(dtype) => {
                let shape = value.dims().to_vec();
                self.leaves.push(LeafInfo { path, shape, dtype });
                self.ids.push(param.id);
            }
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }
}

/// The dtype of a leaf.
pub(crate) fn dtype(name: &str, dtype: DType) -> Result<Dtype, Error> {
    match dtype {
        DType::F16 => Ok(Dtype::F16),
        DType::BF16 => Ok(Dtype::Bf16),
        DType::F32 | DType::Flex32 => Ok(Dtype::F32),
        DType::F64 => Ok(Dtype::F64),
        other => Err(Error::Dtype {
            name: name.to_owned(),
            got: format!("{other:?}").to_lowercase(),
        }),
    }
}

/// The same as burn names it.
pub(crate) fn burn_dtype(dtype: Dtype) -> DType {
    match dtype {
        Dtype::F16 => DType::F16,
        Dtype::Bf16 => DType::BF16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
    }
}

/// The values of the leaves as rows `[1, P]`, without autodiff.
pub(crate) fn rows<M: Module>(model: &M, leaves: &ModelLeaves) -> Vec<Tensor<2>> {
    struct Rows<'a> {
        leaves: &'a ModelLeaves,
        rows: Vec<Option<Tensor<2>>>,
    }
    impl ModuleVisitor for Rows<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(at) = self.leaves.position(param.id) {
                let value = param.val().inner();
                let size = value.shape().num_elements();
                self.rows[at].get_or_insert_with(|| reshape(value, [1, size]));
            }
        }
    }
    let mut visitor = Rows {
        leaves,
        rows: vec![None; leaves.ids.len()],
    };
    model.visit(&mut visitor);
    let found = visitor.rows.into_iter();
    found
        .map(|row| row.expect("the leaves are of this model"))
        .collect()
}

/// Replaces each leaf `p` by `change(leaf, p)`, both without autodiff, and gives it back the autodiff it had. The places of a tied
/// parameter get one tensor, so that its uses still add up to one gradient.
pub(crate) fn map_leaves<M: Module>(
    model: M,
    change: impl Fn(ParamId, Tensor<1>) -> Option<Tensor<1>>,
) -> M {
    struct Change<F> {
        change: F,
        done: TensorContainer<ParamId>,
    }
    impl<F: Fn(ParamId, Tensor<1>) -> Option<Tensor<1>>> ModuleMapper for Change<F> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let (id, value, mapper) = param.consume();
            if let Some(done) = self.done.get::<Tensor<D>>(&id) {
                return Param::from_mapped_value(id, done, mapper);
            }
            let strategy = value.gradient_checkpointing_strategy();
            let (tracked, autodiff) = (value.is_require_grad(), value.is_autodiff());
            let dims = value.dims();
            let inner = value.clone().inner();
            let size = dims.iter().product();
            let Some(changed) = (self.change)(id, reshape(inner, [size])) else {
                return Param::from_mapped_value(id, value, mapper);
            };
            let mut changed: Tensor<D> = reshape(changed, dims);
            if autodiff {
                changed = changed.autodiff();
                if let Some(strategy) = strategy {
                    changed = changed.with_gradient_checkpointing_strategy(strategy);
                }
            }
            if tracked {
                changed = changed.require_grad();
            }
            self.done.register(id, changed.clone());
            Param::from_mapped_value(id, changed, mapper)
        }
    }
    model.map(&mut Change {
        change,
        done: TensorContainer::new(),
    })
}

/// Another shape of as many elements. burn's own reshape reads a 0 as "this axis as it was".
pub(crate) fn reshape<const D: usize, const E: usize>(
    x: Tensor<D>,
    shape: [usize; E],
) -> Tensor<E> {
    if shape.contains(&0) {
        Tensor::empty(shape, (&x.device(), x.dtype()))
    } else {
        x.reshape(shape)
    }
}

/// Where each path is, for error messages about parameters by id.
pub(crate) fn paths(leaves: &ModelLeaves) -> HashMap<ParamId, String> {
    let paths = leaves.tree.paths();
    leaves.ids.iter().copied().zip(paths).collect()
}
