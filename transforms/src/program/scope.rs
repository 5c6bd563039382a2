//! Where a link is being traced: its name, the leaves it sees, and whether its state is kept or given up.
//!
//! None of this is in the language. What a combinator says here becomes ordinary nodes:
//!
//! | the combinator says | the links inside get |
//! |--|--|
//! | these leaves only | a reduction over leaves reads a `select` that is 0 in the others, and a slot names the leaves that have it |
//! | only if a predicate holds | a slot is set to `select(predicate, next, before)`, and steps are counted by a slot of their own |
//! | start anew when a predicate holds | a slot is set to `select(predicate, init, next)`, and so is the count |
//! | as one leaf | a reduction over elements, or along the one axis, goes on over the leaves |
//! | other parameters | those |

use super::{Axes, Fold, Graph, NodeId, Number, Op, SlotId};
use crate::extent::ExtentKind;
use crate::leaves::Leaves;

/// What surrounds the link that is being traced, outermost first.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) links: Vec<String>,
    /// The link sees the leaves that are in all of these.
    leaves: Vec<Leaves>,
    regions: Vec<Region>,
    params: Vec<NodeId>,
    flattened: usize,
}

/// When the state of the links inside is kept, or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// It changes only if the predicate holds.
    Kept,
    /// It begins anew after a step for which the predicate holds.
    Reset,
}

#[derive(Debug)]
struct Region {
    when: When,
    predicate: NodeId,
    /// The slot that counts the steps of the links inside, once one of them asks.
    count: Option<SlotId>,
    /// How many names of links are outside.
    links: usize,
}

impl Graph {
    pub(crate) fn enter(&mut self, link: String) {
        self.scope.links.push(link);
    }

    pub(crate) fn exit(&mut self) {
        self.scope.links.pop();
    }

    pub(crate) fn enter_leaves(&mut self, leaves: &Leaves) {
        self.scope.leaves.push(leaves.clone());
    }

    pub(crate) fn exit_leaves(&mut self) {
        self.scope.leaves.pop();
    }

    pub(crate) fn enter_region(&mut self, when: When, predicate: NodeId, count: Option<SlotId>) {
        let links = self.scope.links.len();
        self.scope.regions.push(Region {
            when,
            predicate,
            count,
            links,
        });
    }

    pub(crate) fn exit_region(&mut self) {
        self.scope.regions.pop();
    }

    pub(crate) fn enter_params(&mut self, params: NodeId) {
        self.scope.params.push(params);
    }

    pub(crate) fn exit_params(&mut self) {
        self.scope.params.pop();
    }

    pub(crate) fn enter_flattened(&mut self) {
        self.scope.flattened += 1;
    }

    pub(crate) fn exit_flattened(&mut self) {
        self.scope.flattened -= 1;
    }

    pub(crate) fn params(&mut self) -> NodeId {
        match self.scope.params.last() {
            Some(&params) => params,
            None => self.push(Op::Params),
        }
    }

    /// The leaves that the link sees, if not all.
    fn visible(&self) -> Option<Leaves> {
        let mut leaves = self.scope.leaves.iter().filter(|l| **l != Leaves::All);
        let first = leaves.next()?.clone();
        let rest: Vec<Leaves> = leaves.cloned().collect();
        Some(if rest.is_empty() {
            first
        } else {
            Leaves::AllOf([vec![first], rest].concat())
        })
    }

    /// The leaves that have a slot, if not all.
    pub(super) fn leaves_of_slot(&mut self, extent: ExtentKind) -> Option<u32> {
        let leaves = self.visible().filter(|_| !extent.is_shared())?;
        Some(self.selector(&leaves))
    }

    /// How far a slot or a number for each leaf reaches here.
    pub(super) fn extent_here(&self, extent: ExtentKind) -> ExtentKind {
        match extent {
            ExtentKind::PerLeaf if self.scope.flattened > 0 => ExtentKind::Global,
            extent => extent,
        }
    }

    /// The value in the leaves that the link sees, 0 in the others.
    pub(crate) fn zero_elsewhere(&mut self, x: NodeId) -> NodeId {
        let shared = self.node_type(x).extent.is_shared();
        match self.visible().filter(|_| !shared) {
            None => x,
            Some(leaves) => {
                let selected = self.selected(&leaves);
                let zero = self.push(Op::Const(Number(0.0)));
                self.push(Op::Select(selected, x, zero))
            }
        }
    }

    /// A reduction over the leaves that the link sees: the others add 0, which changes neither a sum nor a greatest value.
    pub(crate) fn over_leaves(&mut self, fold: Fold, x: NodeId) -> NodeId {
        if self.node_type(x).extent.is_shared() {
            // Over one leaf, since all are flattened to one.
            return x;
        }
        let x = self.zero_elsewhere(x);
        self.push(Op::OverLeaves(fold, x))
    }

    /// A value for each leaf, over all leaves if they are flattened to one.
    fn flattened(&mut self, fold: Fold, x: NodeId) -> NodeId {
        if self.scope.flattened > 0 {
            self.over_leaves(fold, x)
        } else {
            x
        }
    }

    pub(crate) fn over_elements(&mut self, fold: Fold, x: NodeId) -> NodeId {
        let x = self.push(Op::OverElements(fold, x));
        self.flattened(fold, x)
    }

    /// A fold along axes; of all leaves as one vector, if they are flattened to one.
    pub(crate) fn along_axes(&mut self, fold: Fold, axes: Axes, x: NodeId) -> NodeId {
        if self.scope.flattened == 0 {
            return self.push(Op::AlongAxes(fold, axes, x));
        }
        let folded = match axes.of(&[usize::MAX])[..] {
            [true] => self.over_elements(fold, x),
            _ => x,
        };
        // Along no axes, which gives a number to every element.
        self.push(Op::AlongAxes(Fold::Sum, Axes::Bits(0), folded))
    }

    /// The leaves of a shape; if all are flattened to one, whether a vector has it.
    pub(crate) fn by_shape(&self, leaves: Leaves) -> Leaves {
        match leaves {
            leaves if self.scope.flattened == 0 => leaves,
            Leaves::All | Leaves::RankAtLeast(0 | 1) => Leaves::All,
            _ => Leaves::none(),
        }
    }

    /// `a b^T c`; of all leaves as one row, if they are flattened to one.
    pub(crate) fn product3(&mut self, [a, b, c]: [NodeId; 3]) -> NodeId {
        if self.scope.flattened == 0 {
            return self.push(Op::Product3(a, b, c));
        }
        let products = self.push(Op::Binary(super::Binary::Mul, a, b));
        let dot = self.over_elements(Fold::Sum, products);
        self.push(Op::Binary(super::Binary::Mul, dot, c))
    }

    pub(crate) fn gram(&mut self, x: NodeId) -> NodeId {
        let x = self.push(Op::Gram(x));
        self.flattened(Fold::Sum, x)
    }

    pub(crate) fn leaf_size(&mut self) -> NodeId {
        let x = self.push(Op::LeafSize);
        self.flattened(Fold::Sum, x)
    }

    pub(crate) fn one_per_leaf(&mut self) -> NodeId {
        let one = self.push(Op::Const(Number(1.0)));
        if self.scope.flattened > 0 {
            return one;
        }
        let zero = self.push(Op::Const(Number(0.0)));
        let all = self.selected(&Leaves::All);
        self.push(Op::Select(all, one, zero))
    }

    /// The slot that counts the steps the link has taken; none where that is the step count of the program.
    pub(crate) fn count_slot(&mut self) -> Option<SlotId> {
        let region = self.scope.regions.last()?;
        if let Some(count) = region.count {
            return Some(count);
        }
        // The name is that of the link that made the region, whichever link inside asks first.
        let inner = self.scope.links.split_off(region.links);
        let (slot, before) = self.slot("steps", ExtentKind::Global, 0.0);
        let one = self.push(Op::Const(Number(1.0)));
        let next = self.push(Op::Binary(super::Binary::Add, before, one));
        self.set_slot(slot, next);
        self.scope.links.extend(inner);
        self.scope.regions.last_mut()?.count = Some(slot);
        Some(slot)
    }

    /// The same for a count that never begins anew: that of the regions around the first that is reset.
    pub(super) fn lasting_count_slot(&mut self) -> Option<SlotId> {
        let resets = |region: &Region| region.when == When::Reset;
        let first = self.scope.regions.iter().position(resets);
        let first = first.unwrap_or(self.scope.regions.len());
        let inner = self.scope.regions.split_off(first);
        let count = self.count_slot();
        self.scope.regions.extend(inner);
        count
    }

    /// The number of steps that the link has taken before this one.
    pub(crate) fn count(&mut self) -> NodeId {
        let slot = self.count_slot();
        self.push(slot.map_or(Op::Step, Op::State))
    }

    /// What a slot holds after a step, as its surroundings will have it.
    pub(super) fn kept(&mut self, slot: SlotId, mut next: NodeId) -> NodeId {
        let init = self.init_of(slot);
        for at in (0..self.scope.regions.len()).rev() {
            let Region {
                when, predicate, ..
            } = self.scope.regions[at];
            next = match when {
                When::Kept => {
                    let before = self.push(Op::State(slot));
                    self.push(Op::Select(predicate, next, before))
                }
                When::Reset => {
                    let init = self.push(Op::Const(init));
                    self.push(Op::Select(predicate, init, next))
                }
            };
        }
        next
    }
}
