//! The executor: a plan by kernels where the device runs them, else by plain burn operations.
//!
//! A step may begin before all gradients are there: each leaf is [given](Run::leaf) when it is complete, its values of the first
//! stage are computed at once, and what no later stage reads is dropped. The other stages run when the last leaf has come.

use std::sync::Arc;

use burn::tensor::{DType, Device};
use pergrad_transforms::program::{HostScalars, NodeId, Op};
use pergrad_transforms::{AxisKind, ExtentKind, Program};

use super::cell::Cell;
use super::deferred;
use super::factored::{self, Factors};
use super::leaf::{Held, Leaf};
use super::ops::{self, Matrix};
use super::reduce;
use super::settings::Settings;
use super::table::Table;
use super::trace::{Event, How};
use crate::backend::{has_operations, products_are_cheap};
use crate::grads::form::Form;
use crate::model::full;
use crate::plan::{Plan, Stage, has_slot, uses};

/// Elements of a leaf from which on its gradients, of several tokens each, are made in full by burn's product rather than in a kernel, if
/// they fit the memory budget. Measured by the bench `capture`: a convolution is below, the layers of a transformer are above.
const SMALL_PRODUCT: usize = 1 << 14;

/// What a step reads, but for the gradients. Everything is a matrix: rows are examples, columns are elements.
pub(crate) struct Inputs {
    pub(crate) program: Arc<Program>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) host: HostScalars,
    pub(crate) settings: Settings,
    pub(crate) examples: usize,
    pub(crate) sizes: Vec<usize>,
    /// For each leaf.
    pub(crate) shapes: Vec<Vec<usize>>,
    /// For each slot, whether the host keeps it; those that are not listed it does not.
    pub(crate) of_host: Vec<bool>,
    /// For each stream of random numbers how many steps its link has taken.
    pub(crate) stream_counts: Vec<u64>,
    /// For each selection, for each leaf.
    pub(crate) selected: Vec<Vec<bool>>,
    /// For each leaf `[1, P]`, of any float dtype. What of them nobody else holds may be overwritten when it is read for the last time.
    pub(crate) params: Vec<Matrix>,
    /// For each named input `[B, 1]` or `[1, 1]`.
    pub(crate) extras: Vec<Matrix>,
    /// f32 or f64.
    pub(crate) dtype: DType,
    pub(crate) device: Device,
}

/// What a step gives.
pub(crate) struct Outputs {
    /// The names of the outputs.
    pub(crate) names: Vec<String>,
    /// For each output, for each leaf or once.
    pub(crate) outputs: Vec<Vec<Matrix>>,
    /// For each slot, for each leaf or once.
    pub(crate) slots: Vec<Vec<Matrix>>,
    /// What was computed how.
    pub(crate) events: Vec<Event>,
}

/// A step under way.
pub(crate) struct Run {
    inputs: Inputs,
    /// Whether kernels run on the device.
    kernels: bool,
    held: Held,
    tables: Vec<Table>,
    global: Table,
    /// For each reduction over leaves of the stage, for each leaf what it adds. They are added up at the end and in the order of the
    /// leaves, so that the order in which gradients come changes no rounding.
    folds: Vec<Vec<Option<Matrix>>>,
}

impl Run {
    /// Begins a step from a state: for each slot, for each leaf or once, `[1, P]` or `[1, 1]`. What of it nobody else holds may be
    /// overwritten.
    pub(crate) fn new(mut inputs: Inputs, slots: Vec<Vec<Matrix>>) -> Self {
        let leaves = inputs.sizes.len();
        let tables = uses(&inputs.program, &inputs.host, &inputs.selected, leaves).into_iter();
        let nodes = inputs.program.nodes().len();
        let some = |slot: Vec<Matrix>| slot.into_iter().map(Some).collect();
        let mut run = Self {
            kernels: inputs.settings.kernels && inputs.params.first().is_some_and(has_operations),
            held: Held {
                slots: slots.into_iter().map(some).collect(),
                params: some(std::mem::take(&mut inputs.params)),
                events: Vec::new(),
            },
            tables: tables.map(Table::new).collect(),
            global: Table::new(vec![u32::MAX; nodes]),
            folds: Vec::new(),
            inputs,
        };
        run.begin_stage(0);
        run
    }

    /// Takes the gradients of a leaf: B rows of P elements, or one row of aggregated gradients, of any float dtype. Each leaf once.
    pub(crate) fn leaf(&mut self, at: usize, grads: Form) {
        let inputs = &self.inputs;
        if let Some(id) = inputs.plan.grads
            && self.tables[at].needs(id)
        {
            let form = grads.describe();
            let cell = factored::read(grads, inputs.dtype, &inputs.settings);
            let held = match &cell {
                Cell::Factors(_) => form,
                _ => "in full".to_owned(),
            };
            self.held.events.push(Event::Given { leaf: at, held });
            self.tables[at].store(id, cell);
        }
        self.stage_of_leaf(0, at);
    }

    /// What the host knows in this step.
    pub(crate) fn host(&self) -> &HostScalars {
        &self.inputs.host
    }

    /// The program that is computed.
    pub(crate) fn program(&self) -> Arc<Program> {
        self.inputs.program.clone()
    }

    /// Takes the gradients of all leaves, in order.
    pub(crate) fn leaves(&mut self, grads: Vec<Form>) {
        for (at, form) in grads.into_iter().enumerate() {
            self.leaf(at, form);
        }
    }

    /// For a program that reads no gradients: each leaf is complete.
    pub(crate) fn without_grads(&mut self) {
        for at in 0..self.tables.len() {
            self.stage_of_leaf(0, at);
        }
    }

    /// Completes the step; every leaf has been given.
    pub(crate) fn finish(mut self) -> Outputs {
        let plan = self.inputs.plan.clone();
        self.end_stage(&plan.stages[0]);
        for (at, stage) in plan.stages.iter().enumerate().skip(1) {
            self.begin_stage(at);
            for leaf in 0..self.tables.len() {
                self.stage_of_leaf(at, leaf);
            }
            self.end_stage(stage);
        }
        self.collect()
    }

    fn begin_stage(&mut self, at: usize) {
        let plan = self.inputs.plan.clone();
        let stage = &plan.stages[at];
        self.folds = vec![vec![None; self.tables.len()]; stage.over_leaves.len()];
        for &id in &stage.once {
            let needed = self.tables.iter().any(|table| table.needs(id));
            if needed && !self.inputs.host.knows(id) {
                let mut leaf = Leaf::new(&self.inputs, &mut self.held, &mut self.global, None, 0);
                let cell = leaf.evaluate(id);
                self.global.store(id, cell);
                if self.inputs.program.node(id).op.operands().next().is_some() {
                    self.held.events.push(Event::Node {
                        leaf: None,
                        how: How::Plain,
                        node: id,
                    });
                }
            }
        }
    }

    fn stage_of_leaf(&mut self, stage: usize, at: usize) {
        let plan = self.inputs.plan.clone();
        let stage = &plan.stages[stage];
        let mut leaf = Leaf::new(
            &self.inputs,
            &mut self.held,
            &mut self.tables[at],
            Some(&mut self.global),
            at,
        );
        for &id in &stage.each_leaf {
            let given = self.inputs.program.node(id).op == Op::Grads;
            if leaf.table.needs(id) && !given && !self.inputs.host.knows(id) {
                leaf.visit(id, self.kernels);
            }
        }
        leaf.flush();
        for (parts, &id) in self.folds.iter_mut().zip(&stage.over_leaves) {
            let Op::OverLeaves(_, operand) = self.inputs.program.node(id).op else {
                unreachable!("the plan lists reductions over leaves")
            };
            if leaf.table.needs(id) && !self.inputs.host.knows(id) {
                parts[at] = Some(leaf.number(operand));
            }
        }
    }

    fn end_stage(&mut self, stage: &Stage) {
        let folds = std::mem::take(&mut self.folds);
        for (parts, &id) in folds.into_iter().zip(&stage.over_leaves) {
            let Op::OverLeaves(fold, _) = self.inputs.program.node(id).op else {
                unreachable!("the plan lists reductions over leaves")
            };
            let mut parts = parts.into_iter().flatten();
            if let Some(first) = parts.next() {
                let first = reduce::first(fold, first);
                let sum = parts.fold(first, |sum, x| reduce::combine(fold, sum, x));
                self.global.store(id, Cell::Number(sum));
            }
        }
    }

    fn collect(mut self) -> Outputs {
        let program = self.inputs.program.clone();
        let outputs = program.outputs().iter().map(|output| {
            let ty = program.node(output.node).ty;
            let rows = match ty.axis {
                AxisKind::PerExample => self.inputs.examples,
                AxisKind::Aggregated => 1,
            };
            // Updates have the shape of the leaf even where the program gives one number.
            let extent = match output.name.as_str() {
                "updates" | "parameters" => ExtentKind::Leaf,
                _ => ty.extent,
            };
            self.values(output.node, extent, rows, |_, _| None)
        });
        let outputs = outputs.collect();
        let slots = program.slots().iter();
        let slots = slots.enumerate().map(|(at, slot)| {
            if self.inputs.of_host.get(at) == Some(&true) {
                return Vec::new();
            }
            let missing = |this: &Self, leaf: usize| {
                let here = has_slot(slot, &this.inputs.selected, leaf);
                (!here).then_some(slot.init.0)
            };
            self.values(slot.next, slot.extent, 1, missing)
        });
        let slots = slots.collect();
        let names = program.outputs().iter();
        Outputs {
            names: names.map(|output| output.name.clone()).collect(),
            outputs,
            slots,
            events: self.held.events,
        }
    }

    /// What a node is for each leaf, or once. `instead` gives the number that a leaf has which does not have the value.
    fn values(
        &mut self,
        id: NodeId,
        extent: ExtentKind,
        rows: usize,
        instead: impl Fn(&Self, usize) -> Option<f64>,
    ) -> Vec<Matrix> {
        let count = if extent.is_shared() {
            1
        } else {
            self.tables.len()
        };
        let one = |at: usize| {
            if let Some(x) = instead(self, at) {
                return self.inputs.full(x, [1, 1]);
            }
            let columns = match extent {
                ExtentKind::Leaf => self.inputs.sizes[at],
                ExtentKind::Pairs | ExtentKind::LeafPairs => self.inputs.examples,
                ExtentKind::PerLeaf | ExtentKind::Global => 1,
            };
            let Some(table) = self.tables.get_mut(at) else {
                return self.inputs.full(0.0, [rows, columns]);
            };
            let mut leaf = Leaf::new(
                &self.inputs,
                &mut self.held,
                table,
                Some(&mut self.global),
                at,
            );
            ops::expand(leaf.number(id), [rows, columns])
        };
        (0..count).map(one).collect()
    }
}

impl Inputs {
    /// Whether a kernel computes the elements of such a value where it reads them. Else the value is made in full, or deferred.
    pub(super) fn takes_products(&self, x: &Factors) -> bool {
        // Of large matrices and several tokens burn's product is the faster one.
        let [_, size] = x.dims();
        let small = products_are_cheap(&self.device) && size < SMALL_PRODUCT;
        x.tokens() == 1 || small || !deferred::is_small(x, &self.settings)
    }

    pub(super) fn full(&self, x: f64, shape: [usize; 2]) -> Matrix {
        full(x, shape, &self.device, self.dtype)
    }

    pub(super) fn cast(&self, x: Matrix) -> Matrix {
        if x.dtype() == self.dtype {
            x
        } else {
            x.cast(self.dtype)
        }
    }
}
