//! Nodes that wait for a kernel: as many as possible are computed in one pass over a leaf.
//!
//! A node can wait if it is element-wise or a reduction, its operands are in full or wait too, and it does not need a sum over
//! elements that waits. What cannot wait and needs something that does, flushes: the waiting nodes become one kernel, whose outputs are
//! those that are still to be read.

use std::collections::HashMap;

use pergrad_transforms::ExtentKind;
use pergrad_transforms::program::{NodeId, Op};

use super::cell::Cell;
use super::leaf::Leaf;
use super::ops::Matrix;
use super::trace::{Event, How, Moved};
use crate::backend::run_kernel;
use crate::kernel::{Builder, Code, Reg};
use crate::plan::operands;

impl Leaf<'_> {
    /// Computes a node now, or lets it wait for a kernel.
    pub(super) fn visit(&mut self, id: NodeId, kernels: bool) {
        if kernels && self.can_wait(id) {
            self.pending.push(id);
            return;
        }
        if self.operands(id).iter().any(|x| self.pending.contains(x)) {
            self.flush();
            // What waited is there now, and may be all that was missing.
            if kernels && self.can_wait(id) {
                self.pending.push(id);
                return;
            }
        }
        let how = self.how(id);
        let cell = self.evaluate(id);
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

    /// How burn's operations will compute a node.
    fn how(&self, id: NodeId) -> How {
        let mut how = How::Plain;
        for x in self.operands(id) {
            match self.table.peek(x) {
                Some(Cell::Deferred(_) | Cell::DeferredMask(_)) => return How::Tiles,
                Some(Cell::Factors(_)) => how = How::Factors,
                _ => {}
            }
        }
        how
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
            matches!(self.peek(x), Some(Cell::Number(_) | Cell::Mask(_)))
        })
    }

    /// The operands that are read.
    fn operands(&self, id: NodeId) -> Vec<NodeId> {
        operands(&self.inputs.program, &self.inputs.host, id, self.leaf).collect()
    }

    /// A value that is there, of this leaf or of all.
    fn peek(&self, id: NodeId) -> Option<&Cell> {
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
        if needed
            .iter()
            .any(|id| draft.builder.is_narrow(draft.regs[id]))
        {
            // A branch that a select took, as wide as a number: no result of a kernel.
            for id in pending {
                let cell = self.evaluate(id);
                self.table.store(id, cell);
            }
            return;
        }
        let mut tensors: Vec<Option<Matrix>> = vec![None; draft.inputs.len()];
        let read = pending.iter().flat_map(|&id| self.operands(id));
        for x in read.collect::<Vec<_>>() {
            if self.host(x).is_some() {
                continue;
            }
            match draft.inputs.iter().position(|known| *known == x) {
                // The last read takes the value out of the table, so that nobody else holds it.
                Some(at) => tensors[at] = Some(self.plain_number(x)),
                None => self.table.release(x),
            }
        }
        let mut outputs: Vec<Reg> = Vec::new();
        let mut given: HashMap<NodeId, Matrix> = HashMap::new();
        for &id in &needed {
            let reg = draft.regs[&id];
            match draft.builder.code(reg) {
                Code::Input(at) => {
                    let tensor = tensors[usize::from(at)].clone();
                    given.insert(id, tensor.expect("every input is read"));
                }
                Code::Scalar(_) => unreachable!("narrow"),
                _ if outputs.contains(&reg) => {}
                _ => outputs.push(reg),
            }
        }
        let tensors = tensors.into_iter().map(|x| x.expect("every input is read"));
        let (kernel, scalars) = draft.builder.finish(outputs.clone());
        let results = if outputs.is_empty() {
            Vec::new()
        } else {
            let tensors: Vec<Matrix> = tensors.collect();
            let read = Moved::of(&tensors);
            let results = run_kernel(&kernel, &scalars, tensors, sides, self.inputs.dtype);
            self.held.events.push(Event::Kernel {
                leaf: self.leaf,
                nodes: pending.clone(),
                read,
                written: Moved::of(&results),
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
                    None => {
                        draft.inputs.push(x);
                        draft.builder.input(self.dims(x), sides)
                    }
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

    /// The sides of a value that is there.
    fn dims(&self, id: NodeId) -> [usize; 2] {
        match self.peek(id) {
            Some(Cell::Number(x)) => x.dims(),
            Some(Cell::Mask(x)) => x.dims(),
            _ => unreachable!("it could not have been waited for"),
        }
    }

    /// A number or a predicate as a number.
    fn plain_number(&mut self, id: NodeId) -> Matrix {
        match self.cell(id) {
            Cell::Mask(x) => x.float().cast(self.inputs.dtype),
            x => x.into_dense(),
        }
    }
}

/// A kernel in the making.
#[derive(Default)]
struct Draft {
    builder: Builder,
    regs: HashMap<NodeId, Reg>,
    /// The nodes that are its inputs.
    inputs: Vec<NodeId>,
}
