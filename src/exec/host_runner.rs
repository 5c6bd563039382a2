//! A program on burn tensors, with plain numbers in and out.

use burn::tensor::{DType, Device};
use pergrad_transforms::runner::{HostTensor, Runner, StepInput, StepOutput};
use pergrad_transforms::{AxisKind, ParamTree, Program};

use super::engine::{Engine, Wanted, matrix};
use super::ops::Matrix;
use crate::capture::numbers;
use crate::error::Error;
use crate::grads::form::Form;
use crate::model::burn_dtype;

/// Executes a program on a device of burn's, with the inputs and outputs of the [reference](pergrad_transforms::reference).
///
/// For golden values, [update traces](pergrad_transforms::update_trace) and tests of one's own links. Leaves are created in the
/// dtype of the tree; an [`Optimizer`](crate::Optimizer) is for training.
///
/// # Example
/// ```
/// use burn::tensor::Device;
/// use pergrad::HostRunner;
/// use pergrad::prelude::*;
/// use pergrad::transforms::update_trace::UpdateTrace;
///
/// let trace = UpdateTrace::per_example(&sign_sgd(0.5))
///     .unwrap()
///     .leaf("w", [1], [1.0])
///     .step([("w", vec![-1.0, -1.0, 3.0])]);
/// let mut flex = HostRunner::new(trace.program(), &trace.tree().unwrap(), &Device::default()).unwrap();
/// assert_eq!(trace.run(&mut flex).unwrap(), trace.on_reference().unwrap());
/// ```
#[derive(Clone, Debug)]
pub struct HostRunner {
    engine: Engine,
    tree: ParamTree,
    device: Device,
}

impl HostRunner {
    /// The program over these leaves, before its first step.
    ///
    /// # Errors
    /// A selection of leaves that does not fit, or no leaves at all.
    pub fn new(program: &Program, tree: &ParamTree, device: &Device) -> Result<Self, Error> {
        if tree.is_empty() {
            return Err(Error::NothingTrained);
        }
        let device = device.clone().without_autodiff();
        let mut engine = Engine::new(program.clone());
        engine.bind(tree, &device)?;
        Ok(Self {
            engine,
            tree: tree.clone(),
            device,
        })
    }

    /// What it remembers.
    ///
    /// # Errors
    /// A device that cannot be read.
    pub fn state(&self) -> Result<pergrad_transforms::State, Error> {
        self.engine.state()
    }

    /// Goes on from a saved state.
    ///
    /// # Errors
    /// A state that does not fit; then nothing has changed.
    pub fn load(&mut self, state: &pergrad_transforms::State) -> Result<(), Error> {
        self.engine.load(state)
    }

    fn matrices(
        &self,
        axis: AxisKind,
        params: bool,
        tensors: &std::collections::BTreeMap<String, HostTensor>,
    ) -> Result<(usize, Vec<Matrix>), Error> {
        let shapes = tensors.iter();
        let shapes = shapes.map(|(path, tensor)| (path.as_str(), &tensor.shape[..]));
        let examples = if params {
            self.tree.check_params(shapes)?;
            1
        } else {
            self.tree.check_grads(axis, shapes)?
        };
        let leaves = self.tree.leaves().iter().map(|leaf| {
            let values = tensors[&leaf.path].values.clone();
            let shape = [examples, leaf.size()];
            matrix(values, shape, burn_dtype(leaf.dtype), &self.device)
        });
        Ok((examples, leaves.collect()))
    }

    fn extras(&self, input: &StepInput, examples: usize) -> Result<Vec<Matrix>, Error> {
        let program = self.engine.program();
        let given = input.extras.iter();
        let given = given.map(|(name, values)| (name.as_str(), values.len()));
        program.check_extras(examples, given)?;
        let extras = program.extras().iter().map(|extra| {
            let values = input.extras[&extra.name].clone();
            let shape = [values.len(), 1];
            matrix(values, shape, DType::F64, &self.device)
        });
        Ok(extras.collect())
    }

    fn run(&mut self, input: &StepInput) -> Result<StepOutput, Error> {
        let axis = self.engine.program().input();
        let (examples, grads) = self.matrices(axis, false, &input.grads)?;
        let (_, params) = self.matrices(AxisKind::Aggregated, true, &input.params)?;
        let extras = self.extras(input, examples)?;
        let grads: Vec<Form> = grads.into_iter().map(Form::Dense).collect();
        let inputs = self
            .engine
            .inputs(Wanted::Updates, examples, params, extras)?;
        let results = self.engine.step(inputs, grads);
        let program = self.engine.program();
        let mut output = StepOutput::default();
        let per_example = program.output() == AxisKind::PerExample;
        for (leaf, update) in self.tree.leaves().iter().zip(&results.outputs[0]) {
            let mut shape = leaf.shape.clone();
            if per_example {
                shape.insert(0, examples);
            }
            let update = update.clone().cast(burn_dtype(leaf.dtype));
            let tensor = HostTensor::new(shape, numbers(update.into_data())?);
            output.updates.insert(leaf.path.clone(), tensor);
        }
        for (metric, cells) in program.outputs().iter().zip(&results.outputs).skip(1) {
            let mut values = Vec::new();
            for cell in cells {
                values.extend(numbers(cell.to_data())?);
            }
            output.metrics.insert(metric.name.clone(), values);
        }
        Ok(output)
    }
}

impl Runner for HostRunner {
    fn step(&mut self, input: &StepInput) -> Result<StepOutput, pergrad_transforms::Error> {
        self.run(input).map_err(|error| match error {
            Error::Chain(error) => error,
            other => pergrad_transforms::Error::Executor(other.to_string()),
        })
    }
}
