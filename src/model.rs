//! The trained parameters of a burn model, as a tree of leaves.

use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::container::TensorContainer;
use burn::tensor::{DType, Device, GradientCheckpointingStrategy, Shape, Tensor, TensorData};
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

/// A model whose leaves have been taken out: nobody else need hold their values while they change.
pub(crate) struct Emptied<M> {
    model: M,
    leaves: ModelLeaves,
    /// For each leaf that the model has how it was tracked.
    tracked: Vec<Option<Tracking>>,
}

#[derive(Clone, Copy)]
struct Tracking {
    autodiff: bool,
    required: bool,
    strategy: Option<GradientCheckpointingStrategy>,
}

/// Takes the values of those leaves that it has out of a model, as rows `[1, P]` without autodiff.
pub(crate) fn take_rows<M: Module>(
    model: M,
    leaves: &ModelLeaves,
) -> (Emptied<M>, Vec<Option<Tensor<2>>>) {
    struct Take<'a> {
        leaves: &'a ModelLeaves,
        taken: Vec<Option<(Tensor<2>, Tracking)>>,
    }
    impl ModuleMapper for Take<'_> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let Some(at) = self.leaves.position(param.id) else {
                return param;
            };
            let (id, value, mapper) = param.consume();
            let tracking = Tracking {
                autodiff: value.is_autodiff(),
                required: value.is_require_grad(),
                strategy: value.gradient_checkpointing_strategy(),
            };
            let nothing = Tensor::empty([1; D], (&value.device(), value.dtype()));
            let size = value.shape().num_elements();
            self.taken[at].get_or_insert_with(|| (reshape(value.inner(), [1, size]), tracking));
            Param::from_mapped_value(id, nothing, mapper)
        }
    }
    let mut take = Take {
        leaves,
        taken: vec![None; leaves.ids.len()],
    };
    let model = model.map(&mut take);
    let taken = take.taken.into_iter();
    let (rows, tracked) = taken.map(Option::unzip).unzip();
    let emptied = Emptied {
        model,
        leaves: leaves.clone(),
        tracked,
    };
    (emptied, rows)
}

impl<M: Module> Emptied<M> {
    /// Puts rows `[1, P]` in the place of what was taken, rounded to the dtype of the leaf, with the autodiff that it had. The places of
    /// a tied parameter get one tensor, so that its uses still add up to one gradient.
    pub(crate) fn fill(self, mut rows: Vec<Option<Tensor<2>>>) -> M {
        struct Fill<'a> {
            leaves: &'a ModelLeaves,
            tracked: &'a [Option<Tracking>],
            rows: &'a mut [Option<Tensor<2>>],
            done: TensorContainer<ParamId>,
        }
        impl ModuleMapper for Fill<'_> {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                let Some(at) = self.leaves.position(param.id) else {
                    return param;
                };
                let (id, nothing, mapper) = param.consume();
                if let Some(done) = self.done.get::<Tensor<D>>(&id) {
                    return Param::from_mapped_value(id, done, mapper);
                }
                let row = self.rows[at].take();
                let tracking = self.tracked[at].expect("taken with its value");
                let shape = &self.leaves.tree.leaves()[at].shape;
                let shape: [usize; D] = shape[..].try_into().expect("the rank of the leaf");
                let row = row.expect("each leaf once").cast(nothing.dtype());
                let mut value: Tensor<D> = reshape(row, shape);
                if tracking.autodiff {
                    value = value.autodiff();
                    if let Some(strategy) = tracking.strategy {
                        value = value.with_gradient_checkpointing_strategy(strategy);
                    }
                }
                if tracking.required {
                    value = value.require_grad();
                }
                self.done.register(id, value.clone());
                Param::from_mapped_value(id, value, mapper)
            }
        }
        self.model.map(&mut Fill {
            leaves: &self.leaves,
            tracked: &self.tracked,
            rows: &mut rows,
            done: TensorContainer::new(),
        })
    }
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

/// A tensor of one number everywhere. burn 0.22 fuses the making of a tensor without elements with that of others on CubeCL devices,
/// and then makes none of them: those come as data.
pub(crate) fn full<const D: usize>(
    x: f64,
    shape: [usize; D],
    device: &Device,
    dtype: DType,
) -> Tensor<D> {
    if shape.contains(&0) {
        let data = TensorData::new(Vec::<f32>::new(), Shape::new(shape));
        return Tensor::from_data(data.convert_dtype(dtype), (device, dtype));
    }
    Tensor::full(shape, x, (device, dtype))
}
