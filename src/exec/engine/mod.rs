//! The engine: a program with its plan and its state, bound to leaves on a device.

mod parts;
mod state;

use std::sync::{Arc, OnceLock};

use burn::tensor::{DType, Device, TensorData};
use pergrad_transforms::program::{HostInputs, HostScalars};
use pergrad_transforms::{AxisKind, Dtype, Hyper, ParamTree, Program};

use super::ops::Matrix;
use super::portable::{Inputs, Outputs, Run};
use super::settings::Settings;
use super::trace::{self, Event};
use crate::error::Error;
use crate::grads::form::Form;
use crate::plan::Plan;
use parts::InParts;
use state::initial_counts;

/// A program with its plan and state.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    program: Arc<Program>,
    plan: Arc<Plan>,
    /// The same with the updates added to the parameters, if it has updates of leaves.
    applied: Option<(Arc<Program>, Arc<Plan>)>,
    /// The same for a batch that comes in parts, once it has been asked for.
    in_parts: OnceLock<Arc<InParts>>,
    pub(crate) settings: Settings,
    hypers: Vec<Hyper>,
    step: u64,
    /// For each slot, what it holds if it is of the host, such as a counter.
    counts: Vec<Option<f64>>,
    bound: Option<Bound>,
    /// A step is under way that has taken the state; still so after a panic in it.
    stepping: bool,
    /// What the last step computed how, and of which program.
    events: Vec<Event>,
    explained: Arc<Program>,
}

/// What a step gives for each leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Updates,
    /// The parameters after the updates.
    Parameters,
    /// What a part of a batch gives; the state stays as it is.
    Part,
    /// The parameters after the updates, of parts that have been merged.
    Merged,
}

/// What belongs to one model: found once, kept as long as its leaves stay the same.
#[derive(Clone, Debug)]
struct Bound {
    tree: ParamTree,
    sizes: Vec<usize>,
    selected: Vec<Vec<bool>>,
    dtype: DType,
    device: Device,
    /// For each slot, for each leaf or once; nothing for those of the host.
    slots: Vec<Vec<Matrix>>,
}

impl Engine {
    pub(crate) fn new(program: Program) -> Self {
        let applied = (program.output() == AxisKind::Aggregated).then(|| {
            let applied = program.applied();
            let plan = Plan::new(&applied);
            (Arc::new(applied), Arc::new(plan))
        });
        let program = Arc::new(program);
        Self {
            applied,
            plan: Arc::new(Plan::new(&program)),
            in_parts: OnceLock::new(),
            settings: Settings::default(),
            hypers: program.hypers().iter().map(|h| h.value.clone()).collect(),
            explained: program.clone(),
            counts: initial_counts(&program),
            program,
            step: 0,
            bound: None,
            stepping: false,
            events: Vec::new(),
        }
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn steps_taken(&self) -> u64 {
        self.step
    }

    /// The dtype of the computation: f64 as soon as one leaf is, else f32. f16 and bf16 accumulate in f32.
    fn dtype(tree: &ParamTree) -> DType {
        if tree.leaves().iter().any(|leaf| leaf.dtype == Dtype::F64) {
            DType::F64
        } else {
            DType::F32
        }
    }

    /// Binds the program to the leaves of a model, unless it already is.
    pub(crate) fn bind(&mut self, tree: &ParamTree, device: &Device) -> Result<(), Error> {
        if self.stepping {
            return Err(Error::Interrupted);
        }
        if let Some(bound) = &self.bound {
            if bound.tree == *tree && bound.device == *device {
                return Ok(());
            }
            if self.step > 0 {
                // The state of other leaves would be lost, or would broadcast.
                self.state()?.check(&self.program, tree)?;
            }
        }
        // Everything that can fail comes before the old binding is taken apart.
        let selected = self.program.select(tree)?;
        let sizes = tree.sizes();
        let dtype = Self::dtype(tree);
        let slots = match self.bound.take() {
            Some(bound) if self.step > 0 => self.moved_slots(bound, tree, &selected, dtype, device),
            _ => self.initial_slots(&sizes, &selected, dtype, device),
        };
        self.bound = Some(Bound {
            selected,
            tree: tree.clone(),
            sizes,
            dtype,
            device: device.clone(),
            slots,
        });
        Ok(())
    }

    /// The program that gives what is wanted, with its plan.
    fn wanted(&self, result: Wanted) -> Result<(&Arc<Program>, &Arc<Plan>), Error> {
        let (program, plan) = match (result, &self.applied) {
            (Wanted::Part, _) => &self.in_parts()?.part,
            (Wanted::Merged, _) => &self.in_parts()?.rest,
            (Wanted::Parameters, Some(applied)) => applied,
            _ => return Ok((&self.program, &self.plan)),
        };
        Ok((program, plan))
    }

    /// The program that gives what is wanted.
    pub(crate) fn program_of(&self, result: Wanted) -> Result<&Program, Error> {
        Ok(self.wanted(result)?.0)
    }

    /// What a step over the bound leaves reads. Everything that can fail does so here, before anything changes.
    pub(crate) fn inputs(
        &self,
        result: Wanted,
        examples: usize,
        params: Vec<Matrix>,
        extras: Vec<Matrix>,
    ) -> Result<Inputs, Error> {
        let bound = self.bound.as_ref().expect("bound before");
        let (program, plan) = self.wanted(result)?;
        match result {
            // A part may be smaller than what a reduction needs.
            Wanted::Part => program.check_batch(examples)?,
            _ => self.program.check_batch(examples)?,
        }
        let known = self.known_slots()?;
        let hypers = self
            .program
            .hyper_values_knowing(&self.hypers, self.step, &known)?;
        let stream_counts = program.stream_counts(self.step, &known)?;
        let host = HostScalars::compute_knowing(
            program,
            &HostInputs {
                step: self.step,
                batch: examples,
                hypers: &hypers,
                leaf_sizes: &bound.sizes,
                selected: &bound.selected,
            },
            &self.counts,
        );
        Ok(Inputs {
            program: program.clone(),
            plan: plan.clone(),
            host,
            settings: self.settings,
            examples,
            sizes: bound.sizes.clone(),
            shapes: bound
                .tree
                .leaves()
                .iter()
                .map(|leaf| leaf.shape.clone())
                .collect(),
            selected: bound.selected.clone(),
            stream_counts,
            of_host: self.counts.iter().map(Option::is_some).collect(),
            params,
            extras,
            dtype: bound.dtype,
            device: bound.device.clone(),
        })
    }

    /// Begins a step that may still be given up.
    pub(crate) fn begin(&self, inputs: Inputs) -> Run {
        let bound = self.bound.as_ref().expect("bound before");
        Run::new(inputs, bound.slots.clone())
    }

    /// Ends a step whose gradients have all been given.
    pub(crate) fn commit(&mut self, run: Run) -> Outputs {
        let program = run.program();
        let counts = self.next_counts(&program, run.host());
        let mut outputs = run.finish();
        self.counts = counts;
        self.explained = program;
        let bound = self.bound.as_mut().expect("bound before");
        bound.slots = std::mem::take(&mut outputs.slots);
        self.events = std::mem::take(&mut outputs.events);
        self.step = self.step.saturating_add(1);
        self.stepping = false;
        outputs
    }

    /// Takes one step. The state is given away, so that the new one may take its place.
    pub(crate) fn step(&mut self, inputs: Inputs, grads: Vec<Form>) -> Outputs {
        self.stepping = true;
        let bound = self.bound.as_mut().expect("bound before");
        let mut run = Run::new(inputs, std::mem::take(&mut bound.slots));
        run.leaves(grads);
        self.commit(run)
    }

    /// What the last step computed how; nothing before the first.
    pub(crate) fn explain(&self) -> Option<String> {
        if self.events.is_empty() {
            return None;
        }
        let bound = self.bound.as_ref()?;
        let bytes = bound.dtype.size();
        let program = &self.explained;
        Some(trace::text(program, &bound.tree, bytes, &self.events))
    }

    /// How many passes over leaves the last step took.
    pub(crate) fn passes(&self) -> usize {
        trace::kernels(&self.events)
    }

    /// The value of a hyper-parameter at the coming step.
    pub(crate) fn hyper(&self, name: &str) -> Result<f64, Error> {
        let at = self.hyper_position(name)?;
        let steps = match self.program.hypers()[at].count {
            Some(slot) if self.bound.is_some() => self.known_slots()?[slot as usize],
            Some(slot) => Some(self.program.slots()[slot as usize].init.0),
            None => None,
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
        let step = steps.map_or(self.step, |steps| steps as u64);
        Ok(self.hypers[at].at(step))
    }

    /// Sets a hyper-parameter from the coming step on.
    pub(crate) fn set_hyper(&mut self, name: &str, value: Hyper) -> Result<(), Error> {
        let at = self.hyper_position(name)?;
        value.check(name, self.program.hypers()[at].domain)?;
        self.hypers[at] = value;
        Ok(())
    }

    fn hyper_position(&self, name: &str) -> Result<usize, Error> {
        let hypers = self.program.hypers();
        let position = hypers.iter().position(|h| h.name == name);
        position.ok_or_else(|| {
            pergrad_transforms::Error::UnknownHyper {
                name: name.to_owned(),
                known: hypers.iter().map(|h| h.name.clone()).collect(),
            }
            .into()
        })
    }

    /// Forgets a step that a panic has ended, before a saved state is loaded. Gives back whether there was one.
    pub(crate) fn forget_interrupted(&mut self) -> bool {
        if self.stepping {
            self.bound = None;
            self.step = 0;
            self.counts = initial_counts(&self.program);
        }
        std::mem::take(&mut self.stepping)
    }

    /// Puts back what [`Self::forget_interrupted`] gave.
    pub(crate) fn set_interrupted(&mut self, interrupted: bool) {
        self.stepping = interrupted;
    }
}

/// A matrix of numbers of the host.
pub(crate) fn matrix(values: Vec<f64>, shape: [usize; 2], dtype: DType, device: &Device) -> Matrix {
    Matrix::from_data(
        TensorData::new(values, shape).convert_dtype(dtype),
        (device, dtype),
    )
}
