//! Programs read from data are checked before they are trusted like traced ones.

use serde::{Deserialize, Serialize};

use super::graph::{infer, joined};
use super::{ExtraSlot, HyperSlot, Node, NodeId, Op, Output, Program, Slot, Stream};
use crate::axis::AxisKind;
use crate::extent::ExtentKind;
use crate::leaves::Leaves;

/// The serde form of a [`Program`], before it is checked.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RawProgram {
    input: AxisKind,
    nodes: Vec<Node>,
    hypers: Vec<HyperSlot>,
    slots: Vec<Slot>,
    extras: Vec<ExtraSlot>,
    // Programs of before there were any have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    streams: Vec<Stream>,
    selectors: Vec<Leaves>,
    links: Vec<String>,
    outputs: Vec<Output>,
}

impl From<Program> for RawProgram {
    fn from(p: Program) -> Self {
        Self {
            input: p.input,
            nodes: p.nodes,
            hypers: p.hypers,
            slots: p.slots,
            extras: p.extras,
            streams: p.streams,
            selectors: p.selectors,
            links: p.links,
            outputs: p.outputs,
        }
    }
}

impl TryFrom<RawProgram> for Program {
    type Error = String;

    /// Checks that every reference points backwards to something that exists, and that every kind is what the
    /// operation gives; a program from a file can then be trusted like a traced one.
    fn try_from(raw: RawProgram) -> Result<Self, String> {
        let program = Program {
            input: raw.input,
            nodes: raw.nodes,
            hypers: raw.hypers,
            slots: raw.slots,
            extras: raw.extras,
            streams: raw.streams,
            selectors: raw.selectors,
            links: raw.links,
            outputs: raw.outputs,
        };
        let count = program.nodes.len();
        for (at, node) in program.nodes.iter().enumerate() {
            if node.op.operands().any(|id| id.index() >= at) {
                return Err(format!(
                    "node %{at} reads a node that does not come before it"
                ));
            }
            let exists = match node.op {
                Op::Hyper(id) => (id as usize) < program.hypers.len(),
                Op::State(id) => (id as usize) < program.slots.len(),
                Op::Extra(id) => (id as usize) < program.extras.len(),
                Op::Normal(id) => (id as usize) < program.streams.len(),
                Op::Selected(id) => (id as usize) < program.selectors.len(),
                _ => true,
            };
            if !exists || (node.link as usize) >= program.links.len() {
                return Err(format!(
                    "node %{at} names something the program does not list"
                ));
            }
            let input = node.op.operands().next().is_none();
            if input
                && program.nodes[..at]
                    .iter()
                    .any(|before| before.op == node.op)
            {
                return Err(format!("node %{at} is the same input as one before it"));
            }
            if let Err(why) = check_operands(&program, node.op) {
                return Err(format!("node %{at} {why}"));
            }
            if infer(&program, node.op) != node.ty {
                return Err(format!(
                    "node %{at} has another kind than its operation gives"
                ));
            }
        }
        for (what, names) in program.names() {
            let mut seen = std::collections::HashSet::new();
            if let Some(twice) = names.into_iter().find(|name| !seen.insert(*name)) {
                return Err(format!("two {what} have the name `{twice}`"));
            }
        }
        if program.outputs.is_empty() {
            return Err("the program has no output".to_owned());
        }
        let mut roots = program.outputs.iter().map(|o| o.node);
        if roots.any(|id| id.index() >= count || program.node(id).ty.predicate) {
            return Err("an output is not a number of the program".to_owned());
        }
        if program.node(program.updates()).ty.extent.has_pairs() {
            return Err("the updates are for pairs of examples".to_owned());
        }
        let is_count = |at: u32| {
            let slot = program.slots.get(at as usize);
            slot.is_some_and(|slot| slot.extent == ExtentKind::Global)
        };
        if let Some(hyper) = program
            .hypers
            .iter()
            .find(|h| h.count.is_some_and(|at| !is_count(at)))
        {
            return Err(format!(
                "hyper-parameter `{}` is evaluated at a state that is not one number",
                hyper.name
            ));
        }
        check_streams(&program, is_count)?;
        for slot in &program.slots {
            let known = |at: u32| (at as usize) < program.selectors.len();
            if slot
                .leaves
                .is_some_and(|at| slot.extent.is_shared() || !known(at))
            {
                return Err(format!(
                    "state `{}` is of leaves that the program does not select",
                    slot.name
                ));
            }
            if slot.extent.has_pairs() {
                return Err(format!(
                    "state `{}` is for pairs of examples, but those of the next batch are other ones",
                    slot.name
                ));
            }
            let fits = slot.next.index() < count && {
                let ty = program.node(slot.next).ty;
                ty.axis == AxisKind::Aggregated && ty.extent.fits(slot.extent) && !ty.predicate
            };
            if !fits {
                return Err(format!(
                    "state `{}` gets a value that does not fit",
                    slot.name
                ));
            }
        }
        Ok(program)
    }
}

impl Program {
    /// The names by which values, state and metrics are found, kind by kind.
    fn names(&self) -> [(&'static str, Vec<&str>); 5] {
        let of_hypers = self.hypers.iter().map(|h| h.name.as_str());
        let of_slots = self.slots.iter().map(|s| s.name.as_str());
        let of_extras = self.extras.iter().map(|e| e.name.as_str());
        let of_streams = self.streams.iter().map(|s| s.name.as_str());
        let of_outputs = self.outputs.iter().map(|o| o.name.as_str());
        [
            ("hyper-parameters", of_hypers.collect()),
            ("pieces of state", of_slots.collect()),
            ("named inputs", of_extras.collect()),
            ("random streams", of_streams.collect()),
            ("outputs", of_outputs.collect()),
        ]
    }
}

/// Numbers of their own for each stream, other ones at each step.
fn check_streams(program: &Program, is_count: impl Fn(u32) -> bool) -> Result<(), String> {
    for (at, stream) in program.streams.iter().enumerate() {
        let name = &stream.name;
        if stream.extent.has_pairs() {
            return Err(format!("random numbers `{name}` are for pairs of examples"));
        }
        if stream.count.is_some_and(|at| !is_count(at)) {
            return Err(format!(
                "random numbers `{name}` are counted by a state that is not one number"
            ));
        }
        let mut before = program.streams[..at].iter();
        if let Some(same) = before.find(|before| before.key == stream.key) {
            return Err(format!(
                "random numbers `{name}` have the key of `{}`",
                same.name
            ));
        }
    }
    Ok(())
}

/// Numbers where numbers are needed, predicates where predicates are, extents that broadcast, an axis where one is reduced.
fn check_operands(program: &Program, op: Op) -> Result<(), &'static str> {
    let is_predicate = |id: NodeId| program.node(id).ty.predicate;
    let wants_predicate = |at: usize| match op {
        Op::And(..) | Op::Not(_) => true,
        Op::Select(..) => at == 0,
        _ => false,
    };
    if op
        .operands()
        .enumerate()
        .any(|(at, id)| is_predicate(id) != wants_predicate(at))
    {
        return Err("mixes numbers and predicates");
    }
    let ty = |id: NodeId| program.node(id).ty;
    let apart = |id: NodeId| ty(id).axis == AxisKind::PerExample;
    let (holds, why) = match op {
        Op::Binary(..) | Op::Compare(..) | Op::And(..) | Op::Select(..) => (
            joined(program, op).is_some(),
            "combines elements and pairs of examples",
        ),
        Op::OverExamples(_, a) => (apart(a), "reduces over examples that are already reduced"),
        Op::OverElements(_, a) => (
            ty(a).extent == ExtentKind::Leaf,
            "reduces over elements of a value that has none",
        ),
        Op::AlongAxes(_, _, a) => (
            !ty(a).extent.has_pairs(),
            "reduces along axes a value for pairs of examples",
        ),
        Op::Product3(a, b, c) => (
            [a, b, c].iter().all(|id| !ty(*id).extent.has_pairs()),
            "multiplies matrices of pairs of examples",
        ),
        Op::OverLeaves(_, a) => (
            matches!(ty(a).extent, ExtentKind::PerLeaf | ExtentKind::LeafPairs),
            "reduces over leaves a value that is not for each leaf",
        ),
        Op::Gram(a) => (
            apart(a) && ty(a).extent == ExtentKind::Leaf,
            "multiplies the examples of a value that has no examples or no elements",
        ),
        Op::PairProduct(a, b) => (
            [a, b].iter().all(|&x| apart(x) && ty(x).extent.has_pairs()),
            "multiplies values that are not both for pairs of examples",
        ),
        Op::OverPairs(_, a) => (
            ty(a).extent.has_pairs(),
            "reduces over pairs of examples of a value that has none",
        ),
        Op::Transpose(a) => (
            ty(a).extent.has_pairs() || apart(a) && ty(a).extent != ExtentKind::Leaf,
            "transposes a value that is neither for each example nor for pairs",
        ),
        _ => return Ok(()),
    };
    if holds { Ok(()) } else { Err(why) }
}
