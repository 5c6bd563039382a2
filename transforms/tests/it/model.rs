//! Small models and batches, and running a program over them.

use pergrad_transforms::Program;
use pergrad_transforms::reference::{Element, Reference};
use pergrad_transforms::runner::{HostTensor, HostTree, Runner, StepInput, StepOutput};
use pergrad_transforms::{Dtype, LeafInfo, ParamTree};

/// The leaves of the parameters of a step.
pub(crate) fn tree(params: &HostTree) -> ParamTree {
    let leaves = params.iter().map(|(path, p)| leaf(path, &p.shape));
    ParamTree::new(leaves.collect()).expect("a map has no path twice")
}

pub(crate) fn leaf(path: &str, shape: &[usize]) -> LeafInfo {
    LeafInfo {
        path: path.to_owned(),
        shape: shape.to_vec(),
        dtype: Dtype::F64,
    }
}

/// A batch for a model of one leaf `w`, a row an example; the parameters are zeros.
pub(crate) fn batch<const B: usize, const P: usize>(rows: [[f64; P]; B]) -> StepInput {
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[P], B, rows.concat());
    input
}

/// A batch of numbers for a model of one parameter.
pub(crate) fn column(values: &[f64]) -> StepInput {
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[1], values.len(), values.to_vec());
    input
}

/// Adds a leaf with the gradients of `examples` examples; its parameters are zeros.
pub(crate) fn add_leaf(
    input: &mut StepInput,
    path: &str,
    shape: &[usize],
    examples: usize,
    grads: Vec<f64>,
) {
    let batched: Vec<usize> = [&[examples], shape].concat();
    input
        .grads
        .insert(path.to_owned(), HostTensor::new(batched, grads));
    input
        .params
        .insert(path.to_owned(), HostTensor::zeros(shape));
}

/// The first step of a program.
pub(crate) fn step<T: Element>(program: &Program, input: &StepInput) -> StepOutput {
    steps::<T>(program, std::slice::from_ref(input))
        .pop()
        .expect("one step")
}

/// Steps of a program, one after the other.
pub(crate) fn steps<T: Element>(program: &Program, inputs: &[StepInput]) -> Vec<StepOutput> {
    let mut reference = reference::<T>(program, &inputs[0]);
    let outputs = inputs.iter().map(|input| reference.step(input));
    outputs.collect::<Result<_, _>>().expect("inputs fit")
}

/// A program over the leaves of `input`, before its first step.
pub(crate) fn reference<T: Element>(program: &Program, input: &StepInput) -> Reference<T> {
    Reference::new(program, &tree(&input.params)).expect("selections fit")
}

/// The updates of the leaf `w`.
pub(crate) fn w(output: &StepOutput) -> &[f64] {
    &output.updates["w"].values
}
