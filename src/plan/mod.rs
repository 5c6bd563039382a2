//! The plan: in which order a program is computed over the leaves of a model, and what is kept for how long.
//!
//! A program is written once for all leaves. Most of it concerns one leaf at a time; only a norm over the whole model (or
//! another reduction over leaves) needs all of them first. So the plan cuts the program into *stages* at those places:
//!
//! ```text
//! chain((clip_per_example(1.0), mean(), ema(0.9)))
//!
//! stage 0   for each leaf:  %0 = square g,  %1 = sum_P %0       then, over leaves: %2 = sum_leaves %1
//! stage 1   once:           %3 = sqrt %2,  the clip weights [B]
//!           for each leaf:  %8 = mul g weights,  %9 = mean_B %8,  the moment, the update
//! ```
//!
//! Within a stage a leaf is finished before the next one begins, and a value is dropped at its last use, so only what crosses
//! a stage is alive for all leaves at once. Values over all leaves are computed once. Values that depend on no tensor belong to
//! the [host](pergrad_transforms::program::HostScalars); where the host knows the condition of a `select`, only the branch that
//! is taken is computed.

use pergrad_transforms::Program;
use pergrad_transforms::program::{HostScalars, NodeId, Op, Slot};

/// The stages of a program.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) stages: Vec<Stage>,
    /// The gradients, if the program reads them.
    pub(crate) grads: Option<NodeId>,
}

/// What is computed before the next reduction over leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage {
    /// Values over all leaves, computed once, first.
    pub(crate) once: Vec<NodeId>,
    /// Values of a leaf, computed leaf by leaf.
    pub(crate) each_leaf: Vec<NodeId>,
    /// Reductions over leaves, complete when the last leaf is.
    pub(crate) over_leaves: Vec<NodeId>,
}

impl Plan {
    /// Cuts a program into stages.
    pub(crate) fn new(program: &Program) -> Self {
        let stage_of = late(program, &early(program));
        let count = stage_of.iter().max().map_or(1, |last| last + 1);
        let mut stages = vec![Stage::default(); count];
        for (at, node) in program.nodes().iter().enumerate() {
            let id = node_id(at);
            let stage = &mut stages[stage_of[at]];
            match node.op {
                Op::OverLeaves(..) => stage.over_leaves.push(id),
                _ if node.ty.extent.is_shared() => stage.once.push(id),
                _ => stage.each_leaf.push(id),
            }
        }
        // What reads a sum over elements comes after everything that does not: one pass over the leaf gives all such sums.
        let sums = sums_before(program);
        for stage in &mut stages {
            stage.each_leaf.sort_by_key(|id| sums[id.index()]);
        }
        let grads = program.nodes().iter().position(|n| n.op == Op::Grads);
        Self {
            stages,
            grads: grads.map(node_id),
        }
    }
}

/// The first stage in which each node can be computed.
fn early(program: &Program) -> Vec<usize> {
    let mut stage_of: Vec<usize> = Vec::with_capacity(program.nodes().len());
    for node in program.nodes() {
        let operands = node.op.operands().map(|operand| {
            let crosses = matches!(program.node(operand).op, Op::OverLeaves(..));
            stage_of[operand.index()] + usize::from(crosses)
        });
        stage_of.push(operands.max().unwrap_or(0));
    }
    stage_of
}

/// How many sums over elements, one of the other, must be there before each node can be computed.
fn sums_before(program: &Program) -> Vec<usize> {
    let mut before: Vec<usize> = Vec::with_capacity(program.nodes().len());
    for node in program.nodes() {
        let operands = node.op.operands().map(|operand| {
            let sums = matches!(program.node(operand).op, Op::OverElements(..));
            before[operand.index()] + usize::from(sums)
        });
        before.push(operands.max().unwrap_or(0));
    }
    before
}

/// The stage in which each node is computed: a reduction as early as it can be, since it is smaller than what it reads, and
/// everything else when it is first read, so that it need not be kept.
fn late(program: &Program, early: &[usize]) -> Vec<usize> {
    let mut stage_of = vec![usize::MAX; early.len()];
    for (at, node) in program.nodes().iter().enumerate().rev() {
        let reduces = matches!(
            node.op,
            Op::OverExamples(..)
                | Op::OverElements(..)
                | Op::OverLeaves(..)
                | Op::Gram(_)
                | Op::OverPairs(..)
                | Op::PairProduct(..)
        );
        if reduces || stage_of[at] == usize::MAX {
            stage_of[at] = early[at];
        }
        let stage = stage_of[at];
        for operand in node.op.operands() {
            let first = &mut stage_of[operand.index()];
            *first = stage.min(*first);
        }
    }
    stage_of
}

/// How often each node is read, for each leaf, counting only what is computed: 0 for a node that nobody needs there.
///
/// A value over all leaves is needed at every leaf as soon as one needs it: a leaf that does not read a norm is still part of it.
pub(crate) fn uses(
    program: &Program,
    host: &HostScalars,
    selected: &[Vec<bool>],
    leaves: usize,
) -> Vec<Vec<u32>> {
    let mut uses = vec![vec![0; program.nodes().len()]; leaves];
    for root in program.outputs().iter().map(|output| output.node) {
        uses.iter_mut().for_each(|uses| uses[root.index()] += 1);
    }
    for slot in program.slots() {
        for (leaf, uses) in uses.iter_mut().enumerate() {
            uses[slot.next.index()] += u32::from(has_slot(slot, selected, leaf));
        }
    }
    for (at, node) in program.nodes().iter().enumerate().rev() {
        let shared = node.ty.extent.is_shared();
        if shared && uses.iter().any(|uses| uses[at] > 0) {
            uses.iter_mut().for_each(|uses| uses[at] += 1);
        }
        for (leaf, uses) in uses.iter_mut().enumerate() {
            if uses[at] > 0 && !host.knows(node_id(at)) {
                for operand in operands(program, host, node_id(at), leaf) {
                    uses[operand.index()] += 1;
                }
            }
        }
    }
    uses
}

/// Whether a leaf has a slot.
pub(crate) fn has_slot(slot: &Slot, selected: &[Vec<bool>], leaf: usize) -> bool {
    slot.leaves.is_none_or(|at| selected[at as usize][leaf])
}

/// The operands that are read at a leaf: of a `select` whose condition the host knows, only the branch that is taken.
pub(crate) fn operands(
    program: &Program,
    host: &HostScalars,
    id: NodeId,
    leaf: usize,
) -> impl Iterator<Item = NodeId> {
    let op = program.node(id).op;
    let taken = match op {
        Op::Select(c, yes, no) => {
            let holds = host.get_predicate(c, leaf);
            holds.map(|holds| if holds { yes } else { no })
        }
        _ => None,
    };
    let all = op.operands().filter(move |_| taken.is_none());
    all.chain(taken)
}

/// The node at a position.
pub(crate) fn node_id(at: usize) -> NodeId {
    NodeId(u32::try_from(at).expect("a program has fewer than 2^32 nodes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pergrad_transforms::prelude::*;

    #[test]
    fn what_reads_a_sum_over_elements_comes_last() {
        let chain = chain((monitor::gns().leaves(Leaves::RankAtLeast(2)), adam(0.1)));
        let program = optimizer_program(&chain).unwrap();
        for stage in Plan::new(&program).stages {
            let reads_sum = |id: &NodeId| {
                let mut operands = program.node(*id).op.operands();
                operands.any(|x| matches!(program.node(x).op, Op::OverElements(..)))
            };
            let mut late = stage.each_leaf.iter().skip_while(|id| !reads_sum(id));
            let sums = |id: &NodeId| matches!(program.node(*id).op, Op::OverElements(..));
            assert!(!late.any(sums), "a sum after what reads one");
        }
    }

    #[test]
    fn a_norm_over_all_leaves_makes_a_second_stage() {
        let within = optimizer_program(&sign_ema(0.1)).unwrap();
        assert_eq!(Plan::new(&within).stages.len(), 1);
        let across = optimizer_program(&chain((clip_per_example(1.0), mean()))).unwrap();
        assert_eq!(Plan::new(&across).stages.len(), 2);
        let twice = chain((clip_per_example(1.0), mean(), clip_by_global_norm(1.0)));
        assert_eq!(
            Plan::new(&optimizer_program(&twice).unwrap()).stages.len(),
            3
        );
    }
}
