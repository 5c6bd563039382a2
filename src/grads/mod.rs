//! Per-example gradients: for each leaf a tensor, or factors of one, with the batch axis in front.

pub mod form;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Tensor};
use pergrad_transforms::{AxisKind, Dtype, ParamTree};

use crate::error::Error;
use crate::model::{self, ModelLeaves};
use form::Form;

/// The gradient of every example for every trained leaf of a model.
///
/// Made by [`per_example_grads`](crate::per_example_grads), [`per_example_grads_looped`](crate::per_example_grads_looped), or
/// from tensors of your own by [`builder`](Self::builder). The number of examples B is axis 0 of every leaf; it is
/// checked once, when the value is made.
#[derive(Clone, Debug)]
pub struct PerExampleGrads {
    examples: usize,
    leaves: Vec<LeafGrads>,
}

/// The gradients of one leaf.
#[derive(Clone, Debug)]
pub(crate) struct LeafGrads {
    pub(crate) path: String,
    pub(crate) id: Option<ParamId>,
    /// `[B, ..p]`.
    pub(crate) shape: Vec<usize>,
    pub(crate) form: Form,
}

impl LeafGrads {
    /// A leaf of a parameter of the shape `p`.
    pub(crate) fn new(path: String, id: Option<ParamId>, p: &[usize], form: Form) -> Self {
        let mut shape = vec![form.examples()];
        shape.extend(p);
        Self {
            path,
            id,
            shape,
            form,
        }
    }
}

impl PerExampleGrads {
    /// Checks that all leaves agree on the number of examples.
    pub(crate) fn new(leaves: Vec<LeafGrads>) -> Result<Self, Error> {
        let tree = tree(&leaves)?;
        let shapes = leaves.iter().map(|leaf| (&leaf.path[..], &leaf.shape[..]));
        let examples = tree.check_grads(AxisKind::PerExample, shapes)?;
        Ok(Self { examples, leaves })
    }

    /// The gradients of no examples.
    pub(crate) fn empty<M: Module>(model: &M, leaves: &ModelLeaves) -> Result<Self, Error> {
        let values = model::rows(model, leaves);
        let entries = leaves.tree.leaves().iter().zip(&leaves.ids).zip(values);
        let entries = entries.map(|((info, id), value)| {
            let zeros = model::full(0.0, [0, info.size()], &value.device(), value.dtype());
            let form = Form::Dense(zeros);
            LeafGrads::new(info.path.clone(), Some(*id), &info.shape, form)
        });
        Self::new(entries.collect())
    }

    /// Gradients from tensors of your own, by the paths of the leaves.
    ///
    /// # Example
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use pergrad::PerExampleGrads;
    ///
    /// let device = Device::default();
    /// let w = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], &device);
    /// let grads = PerExampleGrads::builder().leaf("w", w).build().unwrap();
    /// assert_eq!(grads.examples(), 3);
    ///
    /// let b = Tensor::<2>::from_floats([[1.0], [2.0]], &device);
    /// let error = PerExampleGrads::builder()
    ///     .leaf("w", Tensor::<2>::zeros([3, 2], &device))
    ///     .leaf("b", b)
    ///     .build()
    ///     .unwrap_err();
    /// assert!(error.to_string().starts_with("leaf `b` has 2 examples (axis 0), but leaf `w` has 3"));
    /// ```
    pub fn builder() -> PerExampleGradsBuilder {
        PerExampleGradsBuilder { leaves: Vec::new() }
    }

    /// The number of examples B.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// The paths of the leaves, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.leaves.iter().map(|leaf| leaf.path.as_str())
    }

    /// The gradients of a leaf in full, `[B, ..p]`, where D is one more than the rank of the parameter. Other forms than the dense
    /// one are computed at each call.
    ///
    /// # Errors
    /// A path that does not exist, or another rank.
    pub fn leaf<const D: usize>(&self, path: &str) -> Result<Tensor<D>, Error> {
        let leaf = self.leaves.iter().find(|leaf| leaf.path == path);
        let leaf = leaf.ok_or_else(|| Error::NoLeaf {
            leaf: path.to_owned(),
            known: self.paths().map(str::to_owned).collect(),
        })?;
        let shape: [usize; D] = leaf.shape[..].try_into().map_err(|_| Error::LeafRank {
            leaf: path.to_owned(),
            shape: leaf.shape.clone(),
            rank: D,
        })?;
        Ok(model::reshape(leaf.form.clone().into_dense(), shape))
    }

    /// The form in which a leaf is held, if there is such a leaf.
    pub fn form(&self, path: &str) -> Option<&Form> {
        let leaf = self.leaves.iter().find(|leaf| leaf.path == path);
        leaf.map(|leaf| &leaf.form)
    }

    /// Each token as an example of its own: `B T` examples, where every leaf was used T times for each example.
    ///
    /// For gradients built of factors; [`per_token_grads`](crate::per_token_grads) captures them, also of layers that else add the tokens
    /// of an example up.
    ///
    /// # Errors
    /// A dense leaf, whose tokens are already added up, or leaves that were used different numbers of times.
    pub fn per_token(self) -> Result<Self, Error> {
        let tokens = self.leaves.iter().map(|leaf| leaf.form.tokens()).max();
        let tokens = tokens.unwrap_or(0);
        let leaves = self.leaves.into_iter().map(|leaf| {
            let form = leaf.form.per_token(tokens);
            let form = form.ok_or_else(|| Error::NoTokens {
                leaf: leaf.path.clone(),
            })?;
            Ok(LeafGrads::new(leaf.path, leaf.id, &leaf.shape[1..], form))
        });
        Self::new(leaves.collect::<Result<_, Error>>()?)
    }

    /// The leaves as they are here, in this order.
    pub(crate) fn tree(&self) -> Result<ParamTree, Error> {
        tree(&self.leaves)
    }

    /// The form of each leaf, in the order of [`tree`](Self::tree).
    pub(crate) fn forms(&self) -> Vec<Form> {
        self.leaves.iter().map(|leaf| leaf.form.clone()).collect()
    }

    /// The form of each leaf of a model, in the order of the model, after checking that they fit it.
    pub(crate) fn forms_for(&self, leaves: &ModelLeaves) -> Result<Vec<Form>, Error> {
        let shapes = self
            .leaves
            .iter()
            .map(|leaf| (&leaf.path[..], &leaf.shape[..]));
        leaves.tree.check_grads(AxisKind::PerExample, shapes)?;
        let ordered = leaves.tree.leaves().iter().zip(&leaves.ids);
        let forms = ordered.map(|(info, id)| {
            let leaf = self.leaves.iter().find(|leaf| leaf.path == info.path);
            let leaf = leaf.expect("the paths are checked");
            if leaf.id.is_some_and(|known| known != *id) {
                return Err(Error::AnotherModel {
                    leaf: info.path.clone(),
                });
            }
            check_dtype(info, leaf.form.dtype())?;
            Ok(leaf.form.clone())
        });
        forms.collect()
    }

    /// Checks that every leaf belongs to the model.
    ///
    /// # Errors
    /// What [`Optimizer::step`](crate::Optimizer::step) would say.
    pub fn check<M: Module>(&self, model: &M) -> Result<(), Error> {
        self.forms_for(&ModelLeaves::of(model)?).map(|_| ())
    }
}

fn tree(leaves: &[LeafGrads]) -> Result<ParamTree, Error> {
    let infos = leaves.iter().map(|leaf| {
        Ok(pergrad_transforms::LeafInfo {
            path: leaf.path.clone(),
            shape: leaf.shape[1..].to_vec(),
            dtype: model::dtype(&leaf.path, leaf.form.dtype())?,
        })
    });
    Ok(ParamTree::new(infos.collect::<Result<_, Error>>()?)?)
}

/// A gradient has the dtype of its parameter; that of a parameter in half precision may have been accumulated in f32.
pub(crate) fn check_dtype(leaf: &pergrad_transforms::LeafInfo, got: DType) -> Result<(), Error> {
    let got = model::dtype(&leaf.path, got)?;
    let accumulated = got == Dtype::F32 && matches!(leaf.dtype, Dtype::F16 | Dtype::Bf16);
    if got == leaf.dtype || accumulated {
        return Ok(());
    }
    Err(pergrad_transforms::Error::LeafDtype {
        leaf: leaf.path.clone(),
        expected: leaf.dtype.to_string(),
        got: got.to_string(),
    }
    .into())
}

/// The rows `[1, P]` of burn's ordinary gradients, in the order of the model, after checking that they fit it. A parameter that took
/// no part in the loss has none, and gets zeros.
pub(crate) fn aggregated_rows<M: Module>(
    model: &M,
    leaves: &ModelLeaves,
    grads: &GradientsParams,
) -> Result<Vec<Tensor<2>>, Error> {
    struct Rows<'a> {
        leaves: &'a ModelLeaves,
        grads: &'a GradientsParams,
        rows: Vec<Option<(Vec<usize>, Tensor<2>)>>,
    }
    impl ModuleVisitor for Rows<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(at) = self.leaves.position(param.id)
                && let Some(grad) = self.grads.get::<D>(param.id)
            {
                let size = grad.shape().num_elements();
                let shape = grad.dims().to_vec();
                let row = model::reshape(grad.inner(), [1, size]);
                self.rows[at] = Some((shape, row));
            }
        }
    }
    let mut visitor = Rows {
        leaves,
        grads,
        rows: vec![None; leaves.ids.len()],
    };
    model.visit(&mut visitor);
    let found = visitor.rows.iter().flatten().count();
    if found < grads.len() {
        return Err(pergrad_transforms::Error::UnknownLeaf {
            leaf: format!(
                "{} parameters of another model, or frozen ones",
                grads.len() - found
            ),
            known: leaves.tree.paths(),
        }
        .into());
    }
    let values = model::rows(model, leaves);
    let rows = leaves.tree.leaves().iter().zip(visitor.rows).zip(values);
    let rows = rows.map(|((info, grad), value)| match grad {
        // A parameter that took no part in the loss.
        None => Ok(value.zeros_like()),
        Some((shape, row)) => {
            if shape != info.shape {
                return Err(pergrad_transforms::Error::LeafShape {
                    leaf: info.path.clone(),
                    expected: format!("{:?}", info.shape),
                    got: format!("{shape:?}"),
                    hint: "",
                }
                .into());
            }
            check_dtype(info, row.dtype())?;
            Ok(row)
        }
    });
    rows.collect()
}

/// Collects leaves for [`PerExampleGrads`].
#[derive(Clone, Debug)]
pub struct PerExampleGradsBuilder {
    leaves: Vec<LeafGrads>,
}

impl PerExampleGradsBuilder {
    /// Adds the gradients of a leaf, `[B, ..p]`.
    #[must_use]
    pub fn leaf<const D: usize>(mut self, path: impl Into<String>, grads: Tensor<D>) -> Self {
        let shape = grads.dims().to_vec();
        let (examples, p) = (shape[0], &shape[1..]);
        let size: usize = p.iter().product();
        let form = Form::Dense(model::reshape(grads.inner(), [examples, size]));
        self.leaves.push(LeafGrads::new(path.into(), None, p, form));
        self
    }

    /// Adds the gradients of a leaf of the shape `p` in any form.
    ///
    /// # Panics
    /// If the form has another number of elements than the shape, or its tensors do not agree.
    #[must_use]
    pub fn form(mut self, path: impl Into<String>, p: impl Into<Vec<usize>>, form: Form) -> Self {
        let p = p.into();
        assert_eq!(
            p.iter().product::<usize>(),
            form.size(),
            "elements of {p:?}"
        );
        assert!(
            form.is_consistent(),
            "factors that disagree on B, T or dtype"
        );
        let form = form.inner();
        self.leaves
            .push(LeafGrads::new(path.into(), None, &p, form));
        self
    }

    /// Checks that the leaves agree on the number of examples.
    ///
    /// # Errors
    /// Leaves of unequal leading size, or two leaves of one path.
    pub fn build(self) -> Result<PerExampleGrads, Error> {
        PerExampleGrads::new(self.leaves)
    }
}
