//! A program under construction: hash-consing, naming, and the kinds of values.

use std::collections::HashMap;

use super::scope::Scope;
use super::{Binary, Node, NodeId, Number, Op, Output, Program, ValueType};
use crate::axis::AxisKind;
use crate::error::Error;
use crate::extent::ExtentKind;

/// The parts of a program while links are traced into it.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(super) program: Program,
    index: HashMap<Op, NodeId>,
    pub(super) scope: Scope,
    /// Slots that no link has set yet, with the link that made them.
    pub(super) unset: Vec<(u32, String)>,
    error: Option<Error>,
}

impl Graph {
    pub(crate) fn new(input: AxisKind) -> Self {
        Self {
            program: Program {
                input,
                nodes: Vec::new(),
                hypers: Vec::new(),
                slots: Vec::new(),
                extras: Vec::new(),
                streams: Vec::new(),
                selectors: Vec::new(),
                links: Vec::new(),
                outputs: Vec::new(),
            },
            index: HashMap::new(),
            scope: Scope::default(),
            unset: Vec::new(),
            error: None,
        }
    }

    /// Remembers the first error; tracing goes on, so that a link need not care.
    pub(crate) fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    pub(super) fn link(&self) -> String {
        if self.scope.links.is_empty() {
            "chain".to_owned()
        } else {
            self.scope.links.join(".")
        }
    }

    fn link_index(&mut self) -> u32 {
        let link = self.link();
        let links = &mut self.program.links;
        let at = links.iter().position(|l| *l == link).unwrap_or_else(|| {
            links.push(link);
            links.len() - 1
        });
        index_u32(at)
    }

    /// Adds an operation, or finds the equal one that is already there.
    pub(crate) fn push(&mut self, op: Op) -> NodeId {
        if let Some(folded) = self.fold(op) {
            return self.push(folded);
        }
        let key = canonical(op);
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        let ty = infer(&self.program, op);
        let link = self.link_index();
        let id = NodeId(index_u32(self.program.nodes.len()));
        self.program.nodes.push(Node { op, ty, link });
        self.index.insert(key, id);
        id
    }

    /// Literals combine into literals, and neutral literals vanish where that is exact.
    fn fold(&self, op: Op) -> Option<Op> {
        let literal = |id: NodeId| match self.program.node(id).op {
            Op::Const(Number(x)) => Some(x),
            _ => None,
        };
        match op {
            Op::Unary(f, a) => literal(a).map(|x| Op::Const(Number(f.apply(x)))),
            Op::Binary(f, a, b) => match (f, literal(a), literal(b)) {
                (_, Some(x), Some(y)) => Some(Op::Const(Number(f.apply(x, y)))),
                (Binary::Mul | Binary::Div, None, Some(1.0)) => Some(self.program.node(a).op),
                (Binary::Mul, Some(1.0), None) => Some(self.program.node(b).op),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn node_type(&self, id: NodeId) -> ValueType {
        self.program.node(id).ty
    }

    /// Closes the program: the updates become its first output, and what nothing needs is dropped.
    pub(crate) fn finish(self, updates: NodeId) -> Result<Program, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if let Some((slot, link)) = self.unset.first() {
            return Err(Error::UnsetState {
                name: self.program.slots[*slot as usize].name.clone(),
                link: link.clone(),
            });
        }
        let mut program = self.program;
        program.outputs.insert(
            0,
            Output {
                name: "updates".to_owned(),
                node: updates,
            },
        );
        Ok(prune(program))
    }
}

/// Makes the first output the parameters after the updates.
pub(super) fn applied(mut program: Program) -> Program {
    let find = |program: &mut Program, op: Op| {
        let known = program.nodes.iter().position(|node| node.op == op);
        let at = known.unwrap_or_else(|| {
            let (ty, link) = (infer(program, op), program.nodes[0].link);
            program.nodes.push(Node { op, ty, link });
            program.nodes.len() - 1
        });
        NodeId(index_u32(at))
    };
    let params = find(&mut program, Op::Params);
    let updates = program.outputs[0].node;
    let sum = find(&mut program, Op::Binary(Binary::Add, params, updates));
    program.outputs[0] = Output {
        name: "parameters".to_owned(),
        node: sum,
    };
    program
}

/// Drops the nodes that no output and no state needs.
pub(super) fn prune(mut program: Program) -> Program {
    let mut needed = vec![false; program.nodes.len()];
    let roots = program.outputs.iter().map(|o| o.node);
    for root in roots.chain(program.slots.iter().map(|s| s.next)) {
        needed[root.index()] = true;
    }
    for at in (0..program.nodes.len()).rev() {
        if needed[at] {
            for operand in program.nodes[at].op.operands() {
                needed[operand.index()] = true;
            }
        }
    }
    let mut renamed = vec![NodeId(u32::MAX); program.nodes.len()];
    let mut nodes = Vec::new();
    for (at, node) in program.nodes.iter().enumerate() {
        if needed[at] {
            renamed[at] = NodeId(index_u32(nodes.len()));
            let op = node.op.map_operands(|id| renamed[id.index()]);
            nodes.push(Node { op, ..*node });
        }
    }
    program.nodes = nodes;
    for slot in &mut program.slots {
        slot.next = renamed[slot.next.index()];
    }
    for output in &mut program.outputs {
        output.node = renamed[output.node.index()];
    }
    program
}

/// Operands of a commuting operation in a fixed order, so that `a + b` and `b + a` are one node.
fn canonical(op: Op) -> Op {
    match op {
        Op::Binary(f, a, b) if f.commutes() && b < a => Op::Binary(f, b, a),
        Op::And(a, b) if b < a => Op::And(b, a),
        Op::Compare(super::Comparison::Equal, a, b) if b < a => {
            Op::Compare(super::Comparison::Equal, b, a)
        }
        op => op,
    }
}

fn number(axis: AxisKind, extent: ExtentKind) -> ValueType {
    ValueType {
        axis,
        extent,
        predicate: false,
    }
}

/// The kind of value an operation gives.
pub(super) fn infer(program: &Program, op: Op) -> ValueType {
    use AxisKind::{Aggregated, PerExample};
    use ExtentKind::{Global, Leaf, LeafPairs, Pairs, PerLeaf};
    let ty = |id: NodeId| program.node(id).ty;
    let join = |predicate: bool| ValueType {
        axis: op.operands().map(|id| ty(id).axis).max().expect("operands"),
        extent: joined(program, op).expect("operands are checked to broadcast"),
        predicate,
    };
    match op {
        Op::Grads => number(program.input, Leaf),
        Op::Params => number(Aggregated, Leaf),
        Op::Step | Op::BatchSize | Op::Const(_) | Op::Hyper(_) => number(Aggregated, Global),
        Op::LeafSize => number(Aggregated, PerLeaf),
        Op::Extra(id) => number(program.extras[id as usize].axis, Global),
        Op::State(id) => number(Aggregated, program.slots[id as usize].extent),
        Op::Normal(id) => number(Aggregated, program.streams[id as usize].extent),
        Op::Selected(_) => ValueType {
            predicate: true,
            ..number(Aggregated, PerLeaf)
        },
        Op::Unary(..) | Op::Binary(..) | Op::Select(..) => join(false),
        Op::Compare(..) | Op::Test(..) | Op::And(..) | Op::Not(_) => join(true),
        Op::OverExamples(_, a) => number(Aggregated, ty(a).extent),
        Op::OverElements(_, a) => number(ty(a).axis, PerLeaf),
        Op::OverLeaves(_, a) if ty(a).extent.has_pairs() => number(ty(a).axis, Pairs),
        Op::OverLeaves(_, a) => number(ty(a).axis, Global),
        Op::AlongAxes(_, _, a) => number(ty(a).axis, Leaf),
        Op::Product3(..) => ValueType {
            extent: Leaf,
            ..join(false)
        },
        Op::Gram(_) => number(PerExample, LeafPairs),
        Op::PairProduct(..) => join(false),
        Op::OverPairs(_, a) => number(ty(a).axis, unpaired(ty(a).extent)),
        Op::Transpose(a) => match (ty(a).axis, ty(a).extent) {
            (PerExample, Global) => number(Aggregated, Pairs),
            (PerExample, PerLeaf) => number(Aggregated, LeafPairs),
            (Aggregated, extent) => number(PerExample, unpaired(extent)),
            (PerExample, extent) => number(PerExample, extent),
        },
    }
}

/// What is left of an extent without its second examples.
fn unpaired(extent: ExtentKind) -> ExtentKind {
    match extent {
        ExtentKind::Pairs => ExtentKind::Global,
        ExtentKind::LeafPairs => ExtentKind::PerLeaf,
        extent => extent,
    }
}

/// The extent that the operands broadcast to, if they do.
pub(super) fn joined(program: &Program, op: Op) -> Option<ExtentKind> {
    let mut extents = op.operands().map(|id| program.node(id).ty.extent);
    extents.try_fold(ExtentKind::Global, ExtentKind::join)
}

pub(super) fn index_u32(at: usize) -> u32 {
    u32::try_from(at).expect("a program has fewer than 2^32 parts")
}
