//! A batch that comes in parts.

use std::sync::Arc;

use burn::tensor::Device;
use pergrad_transforms::program::{Merge, Parts};
use pergrad_transforms::{Hyper, ParamTree, Program};

use super::super::ops::Matrix;
use super::super::portable::{Inputs, Outputs, Run};
use super::Engine;
use crate::error::Error;
use crate::grads::form::Form;
use crate::plan::Plan;

/// A program over a batch that comes in parts, with its plans.
#[derive(Debug)]
pub(crate) struct InParts {
    pub(super) part: (Arc<Program>, Arc<Plan>),
    /// With the updates added to the parameters.
    pub(super) rest: (Arc<Program>, Arc<Plan>),
    pub(crate) merges: Vec<Merge>,
}

impl Engine {
    /// The program for a batch that comes in parts.
    pub(crate) fn in_parts(&self) -> Result<&InParts, Error> {
        if self.in_parts.get().is_none() {
            let Parts { part, rest, merges } = self.program.parts()?;
            let planned = |program: Program| {
                let plan = Plan::new(&program);
                (Arc::new(program), Arc::new(plan))
            };
            let in_parts = InParts {
                part: planned(part),
                rest: planned(rest.applied()),
                merges,
            };
            // Nobody else can have set it: it was empty, and this is the only reference.
            let _ = self.in_parts.set(Arc::new(in_parts));
        }
        Ok(self.in_parts.get().expect("just set"))
    }

    /// The hyper-parameters as they are now.
    pub(crate) fn hypers(&self) -> &[Hyper] {
        &self.hypers
    }

    /// The number of steps, the leaves and the place that what parts of a batch give belongs to.
    pub(crate) fn stamp(&self) -> (u64, ParamTree, Device) {
        let bound = self.bound.as_ref().expect("bound before");
        (self.step, bound.tree.clone(), bound.device.clone())
    }

    /// What a part of a batch gives, the values that are merged first. The state stays as it is.
    pub(crate) fn part(&self, inputs: Inputs, grads: Vec<Form>) -> Vec<Vec<Matrix>> {
        let mut run = self.begin(inputs);
        run.leaves(grads);
        run.finish().outputs
    }

    /// Takes one step with what parts of a batch have given.
    pub(crate) fn step_merged(&mut self, inputs: Inputs, merged: Vec<Vec<Matrix>>) -> Outputs {
        self.stepping = true;
        let bound = self.bound.as_mut().expect("bound before");
        let mut slots = std::mem::take(&mut bound.slots);
        slots.extend(merged);
        let mut run = Run::new(inputs, slots);
        run.without_grads();
        let mut outputs = self.commit(run);
        let bound = self.bound.as_mut().expect("bound before");
        bound.slots.truncate(self.program.slots().len());
        outputs.slots.clear();
        outputs
    }
}
