//! Running a program on plain numbers, whatever executes it.
//!
//! Executors hold tensors of their own kind. For tests, golden values and [update traces](crate::update_trace) they also
//! speak this common form: [`HostTensor`]s of f64 in and out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::program::Number;

/// A tensor as plain numbers, row-major.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawHostTensor")]
pub struct HostTensor {
    /// The shape.
    pub shape: Vec<usize>,
    /// The elements, row-major. NaN and infinities are written as texts.
    #[serde(serialize_with = "numbers")]
    pub values: Vec<f64>,
}

fn numbers<S: serde::Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|&x| Number(x)))
}

#[derive(Deserialize)]
struct RawHostTensor {
    shape: Vec<usize>,
    values: Vec<Number>,
}

impl TryFrom<RawHostTensor> for HostTensor {
    type Error = String;

    fn try_from(RawHostTensor { shape, values }: RawHostTensor) -> Result<Self, String> {
        if shape.iter().product::<usize>() == values.len() {
            let values = values.into_iter().map(|x| x.0).collect();
            Ok(Self { shape, values })
        } else {
            let count = values.len();
            Err(format!(
                "a tensor of shape {shape:?} does not have {count} values"
            ))
        }
    }
}

impl HostTensor {
    /// A tensor of this shape.
    ///
    /// # Panics
    /// If the number of values is not the product of the shape.
    pub fn new(shape: impl Into<Vec<usize>>, values: impl Into<Vec<f64>>) -> Self {
        let (shape, values) = (shape.into(), values.into());
        assert_eq!(
            shape.iter().product::<usize>(),
            values.len(),
            "a tensor of shape {shape:?} does not have {} values",
            values.len()
        );
        Self { shape, values }
    }

    /// A tensor of zeros.
    pub fn zeros(shape: impl Into<Vec<usize>>) -> Self {
        let shape = shape.into();
        let values = vec![0.0; shape.iter().product()];
        Self { shape, values }
    }
}

/// Tensors by the path of their leaf.
pub type HostTree = BTreeMap<String, HostTensor>;

/// What one step of a program gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepInput {
    /// The gradients, `[B, ..p]` or `[..p]` for each leaf.
    pub grads: HostTree,
    /// The parameters, `[..p]` for each leaf.
    pub params: HostTree,
    /// The named inputs: a number, or one number for each example.
    pub extras: BTreeMap<String, Vec<f64>>,
}

/// What one step of a program gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepOutput {
    /// The updates, to be added to the parameters.
    pub updates: HostTree,
    /// The metrics by name: one number, or one for each leaf, element, example or several of these (leaves outermost, then
    /// examples). One for each pair of examples is B rows of B numbers, one after the other.
    pub metrics: BTreeMap<String, Vec<f64>>,
}

/// Something that executes a program step by step and keeps its state.
pub trait Runner {
    /// Takes one step. The parameters are not changed. On an error the state is as before.
    ///
    /// # Errors
    /// Inputs that do not fit, a batch that is too small, or a failure of the executor.
    fn step(&mut self, input: &StepInput) -> Result<StepOutput, Error>;
}
