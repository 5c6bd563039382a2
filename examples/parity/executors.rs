//! What the cases run on.

use burn::tensor::Device;
use pergrad::HostRunner;
use pergrad::transforms::reference::Reference;
use pergrad::transforms::runner::Runner;
use pergrad::transforms::{Dtype, ParamTree, Program, State};

/// A runner that shows what it keeps.
pub(crate) trait Running: Runner {
    fn state(&self) -> Result<State, String>;
}

impl Running for Reference<f32> {
    fn state(&self) -> Result<State, String> {
        Ok(self.state())
    }
}

impl Running for Reference<f64> {
    fn state(&self) -> Result<State, String> {
        Ok(self.state())
    }
}

impl Running for HostRunner {
    fn state(&self) -> Result<State, String> {
        self.state().map_err(text)
    }
}

type Started = Result<Box<dyn Running>, String>;

/// Makes something that runs a program over leaves of one element type.
pub(crate) struct Executor {
    pub(crate) name: &'static str,
    pub(crate) start: fn(&Program, &ParamTree) -> Started,
}

/// All executors.
pub(crate) const EXECUTORS: &[Executor] = &[
    Executor {
        name: "reference",
        start: reference,
    },
    Executor {
        name: "flex",
        start: flex,
    },
];

fn reference(program: &Program, tree: &ParamTree) -> Started {
    Ok(match dtype(tree) {
        Dtype::F32 => Box::new(Reference::<f32>::new(program, tree).map_err(text)?),
        _ => Box::new(Reference::<f64>::new(program, tree).map_err(text)?),
    })
}

/// burn's CPU backend.
fn flex(program: &Program, tree: &ParamTree) -> Started {
    let runner = HostRunner::new(program, tree, &Device::flex());
    Ok(Box::new(runner.map_err(text)?))
}

/// The element type of the leaves: all have the same.
fn dtype(tree: &ParamTree) -> Dtype {
    tree.leaves().first().map_or(Dtype::F64, |leaf| leaf.dtype)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
