//! Nodes that wait for a kernel: as many as possible are computed in one pass over a leaf.
//!
//! A node can wait if it is element-wise or a reduction, its operands are in full, or in two factors that do not tell it, or wait too, and
//! it does not need a sum over elements that waits. What cannot wait and needs something that does, flushes: the waiting nodes become one kernel, whose outputs are
//! those that are still to be read.

use std::collections::HashMap;

use burn::tensor::{Shape, Tensor, TensorData};
use pergrad_transforms::program::{Binary, NodeId, Op, Unary};
use pergrad_transforms::{AxisKind, ExtentKind};

use super::cell::Cell;
use super::deferred;
use super::leaf::Leaf;
use super::ops::Matrix;
use super::trace::{Event, How, Moved};
use crate::backend::{Operand, run_kernel};
use crate::kernel::{Builder, Code, Reg};
use crate::plan::operands;

impl Leaf<'_> {
    /// Computes a node now, or lets it wait for a kernel.
    pub(super) fn visit(&mut self, id: NodeId, kernels: bool) {
        if let Some(nothing) = self.nothing(id) {
            self.have_read(id);
            self.table.store(id, nothing);
            return;
        }
        let factored = |this: &Self| {
            let cell = |x: &NodeId| matches!(this.table.peek(*x), Some(Cell::Factors(_)));
            this.operands(id).iter().any(cell)
        };
        let waits = |this: &Self| this.operands(id).iter().any(|x| this.pending.contains(x));
        if kernels && !factored(self) && self.can_wait(id) {
            self.pending.push(id);
            return;
        }
        if waits(self) {
            self.flush();
        }
        let told = self.told(id);
        if told.is_none() && kernels && self.can_wait(id) {
            // What waited is there now, and may be all that was missing; or a kernel takes what the factors do not tell.
            self.pending.push(id);
            return;
        }
        let how = if told.is_some() {
            How::Factors
        } else {
            self.how(id)
        };
        let cell = told.unwrap_or_else(|| self.evaluate(id));
        self.table.store(id, cell);
        let is_input = self.inputs.program.node(id).op.operands().next().is_none();
        if !is_input {
            let leaf = Some(self.leaf);
            self.held.events.push(Event::Node {
                leaf,
                how,
                node: id,
            });
        }
    }

    /// The value of a node that has no numbers. burn 0.22 fuses an operation without elements with its neighbours on CubeCL devices, and
    /// then runs none of them.
    fn nothing(&self, id: NodeId) -> Option<Cell> {
        let node = self.inputs.program.node(id);
        if node.op.operands().next().is_none() || node.ty.extent.has_pairs() {
            return None;
        }
        let rows = match node.ty.axis {
            AxisKind::PerExample => self.inputs.examples,
            AxisKind::Aggregated => 1,
        };
        let columns = match node.ty.extent {
            ExtentKind::Leaf => self.inputs.sizes[self.leaf],
            _ => 1,
        };
        if rows * columns > 0 {
            return None;
        }
        if node.ty.predicate {
            let data = TensorData::new(Vec::<bool>::new(), Shape::new([rows, columns]));
            return Some(Cell::Mask(Tensor::from_data(data, &self.inputs.device)));
        }
        Some(Cell::Number(self.inputs.full(0.0, [rows, columns])))
    }

    /// How burn's operations will compute a node.
    fn how(&self, id: NodeId) -> How {
        let settings = &self.inputs.settings;
        let tiles = |x: &NodeId| match self.table.peek(*x) {
            Some(Cell::Deferred(_) | Cell::DeferredMask(_)) => true,
            Some(Cell::Factors(x)) => !deferred::is_small(x, settings),
            _ => false,
        };
        if self.operands(id).iter().any(tiles) {
            How::Tiles
        } else {
            How::Plain
        }
    }

    fn can_wait(&self, id: NodeId) -> bool {
        let node = self.inputs.program.node(id);
        let empty = self.inputs.examples == 0 || self.inputs.sizes[self.leaf] == 0;
        let computes = matches!(
            node.op,
            Op::Unary(..)
                | Op::Binary(..)
                | Op::Compare(..)
                | Op::Test(..)
                | Op::And(..)
                | Op::Not(_)
                | Op::Select(..)
                | Op::OverExamples(..)
        ) && node.ty.extent == ExtentKind::Leaf;
        let folds = matches!(node.op, Op::OverElements(..));
        if empty || !(computes || folds) {
            return false;
        }
        self.operands(id).iter().all(|&x| {
            if self.host(x).is_some() {
                return true;
            }
            if self.pending.contains(&x) {
                return !matches!(self.inputs.program.node(x).op, Op::OverElements(..));
            }
            match self.peek(x) {
                Some(Cell::Number(_) | Cell::Half(..) | Cell::Mask(_)) => true,
                Some(Cell::Factors(x)) => x.outer().is_some() && self.inputs.takes_products(x),
                _ => false,
            }
        })
    }

    /// The operands that are read.
    pub(super) fn operands(&self, id: NodeId) -> Vec<NodeId> {
        operands(&self.inputs.program, &self.inputs.host, id, self.leaf).collect()
    }

    /// A value that is there, of this leaf or of all.
    pub(super) fn peek(&self, id: NodeId) -> Option<&Cell> {
        let shared = || self.global.as_ref().and_then(|global| global.peek(id));
        self.table.peek(id).or_else(shared)
    }

    /// Computes all that waits, in one kernel.
    pub(super) fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return;
        }
        let sides = [self.inputs.examples, self.inputs.sizes[self.leaf]];
        let draft = self.draft(&pending, sides);
        // What is still to be read when all that waits has been computed.
        let mut reads: HashMap<NodeId, u32> = HashMap::new();
        for x in pending.iter().flat_map(|&id| self.operands(id)) {
            *reads.entry(x).or_default() += 1;
        }
        let remains = |id: &NodeId| self.table.uses(*id) > reads.get(id).copied().unwrap_or(0);
        let needed: Vec<NodeId> = pending.iter().copied().filter(remains).collect();
        // A branch that a select took, as wide as a number, is no result of a kernel.
        let narrow = |id: &NodeId| draft.builder.is_narrow(draft.regs[id]);
        // Nor is what would be made in full, of factors, beyond the memory budget.
        let [examples, size] = sides;
        let bytes = self.inputs.dtype.size();
        let bounded = draft.products && !self.inputs.settings.allows(examples, size, bytes);
        let large = |id: &NodeId| bounded && draft.builder.is_full(draft.regs[id]);
        // Nor does a kernel run that reads nothing: a branch that the host has chosen, and what follows from it.
        let reads_nothing = draft.inputs.is_empty();
        if reads_nothing || needed.iter().any(|id| narrow(id) || large(id)) {
            for id in pending {
                let cell = self.evaluate(id);
                self.table.store(id, cell);
            }
            return;
        }
        let mut read_by_kernel: Vec<Option<Operand>> = vec![None; draft.inputs.len()];
        let read = pending.iter().flat_map(|&id| self.operands(id));
        for x in read.collect::<Vec<_>>() {
            if self.host(x).is_some() {
                continue;
            }
            if !draft.inputs.iter().any(|source| source.node() == x) {
                self.table.release(x);
                continue;
            }
            // The last read takes the value out of the table, so that nobody else holds it.
            let cell = self.cell(x);
            for (input, source) in read_by_kernel.iter_mut().zip(&draft.inputs) {
                *input = match (&cell, source) {
                    _ if source.node() != x => continue,
                    (Cell::Factors(x), Source::Weights(_)) => x.weights().map(Operand::Matrix),
                    (Cell::Factors(x), Source::Node(_)) => {
                        let factors = x.outer().expect("it could not wait otherwise");
                        Some(Operand::Product(factors))
                    }
                    _ => continue,
                };
            }
            if let Some(at) = draft
                .inputs
                .iter()
                .position(|known| *known == Source::Node(x))
                && !matches!(cell, Cell::Factors(_))
            {
                read_by_kernel[at] = Some(Operand::Matrix(self.plain_number(cell)));
            }
        }
        let mut outputs: Vec<Reg> = Vec::new();
        let mut given: HashMap<NodeId, Matrix> = HashMap::new();
        for &id in &needed {
            let reg = draft.regs[&id];
            match draft.builder.code(reg) {
                Code::Input(at) => match &read_by_kernel[usize::from(at)] {
                    Some(Operand::Matrix(x)) => {
                        given.insert(id, self.inputs.cast(x.clone()));
                    }
                    _ => unreachable!("a node that waits is not its own operand in factors"),
                },
                Code::Scalar(_) => unreachable!("narrow"),
                _ if outputs.contains(&reg) => {}
                _ => outputs.push(reg),
            }
        }
        let operands = read_by_kernel.into_iter();
        let operands = operands.map(|x| x.expect("every input is read"));
        let (kernel, scalars) = draft.builder.finish(outputs.clone());
        let results = if outputs.is_empty() {
            Vec::new()
        } else {
            let operands: Vec<Operand> = operands.collect();
            let read = Moved::of(operands.iter().map(Operand::elements));
            let results = run_kernel(&kernel, &scalars, operands, sides, self.inputs.dtype);
            self.held.events.push(Event::Kernel {
                leaf: self.leaf,
                nodes: pending.clone(),
                read,
                written: Moved::of(results.iter().map(|x| x.dims().iter().product())),
            });
            results
        };
        for id in needed {
            let value = match given.remove(&id) {
                Some(value) => value,
                None => {
                    let at = outputs.iter().position(|reg| *reg == draft.regs[&id]);
                    results[at.expect("listed above")].clone()
                }
            };
            let predicate = self.inputs.program.node(id).ty.predicate;
            let cell = if predicate {
                Cell::Mask(value.equal_elem(1.0))
            } else {
                Cell::Number(value)
            };
            self.table.store(id, cell);
        }
    }

    /// The kernel of what waits, without taking anything.
    fn draft(&self, pending: &[NodeId], sides: [usize; 2]) -> Draft {
        let mut draft = Draft::default();
        for &id in pending {
            let operands = self.operands(id);
            for &x in &operands {
                if draft.regs.contains_key(&x) {
                    continue;
                }
                let reg = match self.host(x) {
                    Some(number) => draft.builder.scalar(number),
                    None => self.draft_input(&mut draft, x, sides),
                };
                draft.regs.insert(x, reg);
            }
            let regs: Vec<Reg> = operands.iter().map(|x| draft.regs[x]).collect();
            let reg = match (self.inputs.program.node(id).op, &regs[..]) {
                (Op::Unary(f, _), &[x]) => draft.builder.push(Code::Unary(f, x)),
                (Op::Binary(f, ..), &[x, y]) => draft.builder.push(Code::Binary(f, x, y)),
                (Op::Compare(f, ..), &[x, y]) => draft.builder.push(Code::Compare(f, x, y)),
                (Op::Test(f, _), &[x]) => draft.builder.push(Code::Test(f, x)),
                (Op::And(..), &[x, y]) => draft.builder.push(Code::And(x, y)),
                (Op::Not(_), &[x]) => draft.builder.push(Code::Not(x)),
                (Op::Select(..), &[c, x, y]) => draft.builder.push(Code::Select(c, x, y)),
                // The branch that the host has chosen.
                (Op::Select(..), &[x]) => x,
                (Op::OverExamples(reduction, _), &[x]) => {
                    draft.builder.over_examples(reduction, x, sides[0])
                }
                (Op::OverElements(fold, _), &[x]) => draft.builder.over_elements(fold, x),
                _ => unreachable!("it could not wait"),
            };
            draft.regs.insert(id, reg);
        }
        draft
    }

    /// The input of a kernel that a value which is there becomes.
    fn draft_input(&self, draft: &mut Draft, x: NodeId, sides: [usize; 2]) -> Reg {
        draft.inputs.push(Source::Node(x));
        let builder = &mut draft.builder;
        let factors = match self.peek(x) {
            Some(Cell::Number(x) | Cell::Half(x, _)) => return builder.input(x.dims(), sides),
            Some(Cell::Mask(x)) => return builder.input(x.dims(), sides),
            Some(Cell::Factors(x)) => x,
            _ => unreachable!("it could not have been waited for"),
        };
        draft.products = true;
        let mut reg = builder.input(sides, sides);
        if factors.is_squared() {
            reg = builder.push(Code::Unary(Unary::Square, reg));
        }
        if factors.weights().is_some() {
            draft.inputs.push(Source::Weights(x));
            let weights = builder.input([1, sides[1]], sides);
            reg = builder.push(Code::Binary(Binary::Mul, reg, weights));
        }
        reg
    }

    /// A number as it is, or a predicate as a number.
    fn plain_number(&self, cell: Cell) -> Matrix {
        match cell {
            Cell::Mask(x) => x.float().cast(self.inputs.dtype),
            Cell::Half(x, _) => x,
            x => x.into_dense(),
        }
    }
}

/// What an input of a kernel is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Node(NodeId),
    /// The weights of a node that is in factors.
    Weights(NodeId),
}

impl Source {
    fn node(self) -> NodeId {
        match self {
            Self::Node(id) | Self::Weights(id) => id,
        }
    }
}

/// A kernel in the making.
#[derive(Default)]
struct Draft {
    builder: Builder,
    regs: HashMap<NodeId, Reg>,
    inputs: Vec<Source>,
    /// Whether one of them is in factors.
    products: bool,
}
