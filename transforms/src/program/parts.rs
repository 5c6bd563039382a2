//! A program over a batch that comes in parts.
//!
//! A reduction over the examples is a monoid: parts of the batch are reduced one after the other, on one device or on several, what
//! they give is [merged](Merge), and only then the rest is computed. So a program falls in two:
//!
//! ```text
//! chain((square(), mean(), ema(0.9)))
//!
//! part   %0 = square g    %1 = sum_B %0          for each part of the batch, which gives %1
//! rest   %0 = @merged.0   %1 = div %0 B   ...    once, with all examples counted
//! ```
//!
//! That is exact, whatever the sizes of the parts, for sums, means, variances, maxima and minima of values that each example has by
//! itself. It is refused where it would not be: a median looks at all values, and what is computed of an example from a statistic of the
//! batch cannot begin before the batch is complete.

use std::collections::HashMap;

use super::graph::{Graph, index_u32, prune};
use super::{Binary, Node, NodeId, Number, Op, Output, Program, Reduction, Slot};
use crate::axis::AxisKind;
use crate::error::Error;
use crate::extent::ExtentKind;

/// How what two parts of a batch give becomes what both together give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Merge {
    /// `x + y`.
    Sum,
    /// The larger one; NaN if either is.
    Max,
    /// The smaller one; NaN if either is.
    Min,
    /// The mean of `n` examples, with the one of `m` others: `x + (y - x) m / (n + m)`. The sum of squared deviations from it
    /// is the next value.
    Mean,
    /// The sum of squared deviations from the mean, which is the value before: `x + y + d^2 n m / (n + m)`, where `d` is the
    /// difference of the means.
    Deviations,
}

/// A program in two: what is computed of each part of a batch, and the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Gives `"merged.0"`, `"merged.1"`, .. and then the outputs of the program that have the examples apart, by their names. It reads
    /// the state and leaves it as it is.
    pub part: Program,
    /// Reads no gradients. Its last slots are `"merged.0"`, `"merged.1"`, ..; the number of examples is that of the whole batch.
    pub rest: Program,
    /// How each of the values is merged.
    pub merges: Vec<Merge>,
}

impl Program {
    /// The program in two, for a batch that comes in parts.
    ///
    /// # Errors
    /// [`Error::Whole`] where a link needs the whole batch at once, naming it.
    ///
    /// # Example
    /// ```
    /// use pergrad_transforms::prelude::*;
    /// use pergrad_transforms::program::Merge;
    ///
    /// let parts = optimizer_program(&micro_adam(0.1)).unwrap().parts().unwrap();
    /// assert_eq!(parts.merges, [Merge::Sum, Merge::Sum]);
    /// let error = optimizer_program(&chain((median(), sgd(0.1)))).unwrap().parts().unwrap_err();
    /// assert!(error.to_string().starts_with("`median` looks at all examples at once"));
    /// ```
    pub fn parts(&self) -> Result<Parts, Error> {
        self.check_parts()?;
        let mut part = self.without_nodes();
        let mut merges = Vec::new();
        // What of the program the values of a part are: the node, and where its first value stands among all.
        let mut merged: HashMap<NodeId, usize> = HashMap::new();
        let mut renamed: HashMap<NodeId, NodeId> = HashMap::new();
        let mut values: Vec<(NodeId, ExtentKind)> = Vec::new();
        for (id, node) in self.numbered() {
            part.enter(self.link_of(id).to_owned());
            if let Op::OverExamples(reduction, of) = node.op {
                merged.insert(id, values.len());
                let mut give = |merge: Merge, node: NodeId| {
                    merges.push(merge);
                    values.push((node, self.node(id).ty.extent));
                };
                let x = renamed[&of];
                match reduction {
                    Reduction::Sum | Reduction::Mean => {
                        give(Merge::Sum, part.push(Op::OverExamples(Reduction::Sum, x)));
                    }
                    Reduction::Variance { .. } => {
                        let mean = part.push(Op::OverExamples(Reduction::Mean, x));
                        let biased = Reduction::Variance { ddof: 0 };
                        let variance = part.push(Op::OverExamples(biased, x));
                        let examples = part.push(Op::BatchSize);
                        give(Merge::Mean, mean);
                        let squares = Op::Binary(Binary::Mul, variance, examples);
                        give(Merge::Deviations, part.push(squares));
                    }
                    Reduction::Max => give(Merge::Max, part.push(Op::OverExamples(reduction, x))),
                    Reduction::Min => give(Merge::Min, part.push(Op::OverExamples(reduction, x))),
                    Reduction::Median | Reduction::TrimmedMean { .. } => {
                        unreachable!("checked before")
                    }
                }
            } else if node.op.operands().all(|x| renamed.contains_key(&x)) {
                // What reads a statistic of the batch belongs to the rest.
                renamed.insert(id, self.copy(node, &renamed, &mut part));
            }
            part.exit();
        }
        let names = (0..values.len()).map(|at| format!("merged.{at}"));
        let of_batch = names.zip(values.iter().map(|(node, _)| *node));
        let of_examples = self.apart().map(|o| (o.name.clone(), renamed[&o.node]));
        let outputs = of_batch.chain(of_examples);
        let outputs = outputs.map(|(name, node)| Output { name, node });
        let keep: Vec<NodeId> = (0..self.slots.len())
            .map(|slot| part.push(Op::State(u32::try_from(slot).expect("few slots"))))
            .collect();
        let part = part.close(outputs.collect(), &keep);

        let mut rest = self.without_nodes();
        let first = self.slots.len();
        for (at, (_, extent)) in values.iter().enumerate() {
            rest.add_slot(Slot {
                name: format!("merged.{at}"),
                extent: *extent,
                init: Number(0.0),
                leaves: None,
                next: NodeId(u32::MAX),
            });
        }
        let slot = |at: usize| Op::State(u32::try_from(first + at).expect("few slots"));
        let mut renamed: HashMap<NodeId, NodeId> = HashMap::new();
        for (id, node) in self.numbered() {
            rest.enter(self.link_of(id).to_owned());
            let new = match (node.op, merged.get(&id)) {
                (Op::OverExamples(reduction, _), Some(&at)) => {
                    let value = rest.push(slot(at));
                    let divided = |rest: &mut Graph, x: NodeId, less: usize| {
                        let examples = rest.push(Op::BatchSize);
                        #[allow(clippy::cast_precision_loss)] // 0 or 1
                        let less = rest.push(Op::Const(Number(less as f64)));
                        let count = rest.push(Op::Binary(Binary::Sub, examples, less));
                        rest.push(Op::Binary(Binary::Div, x, count))
                    };
                    Some(match reduction {
                        Reduction::Mean => divided(&mut rest, value, 0),
                        Reduction::Variance { ddof } => {
                            let deviations = rest.push(slot(at + 1));
                            divided(&mut rest, deviations, ddof)
                        }
                        _ => value,
                    })
                }
                _ if node.ty.axis == AxisKind::Aggregated => {
                    Some(self.copy(node, &renamed, &mut rest))
                }
                _ => None,
            };
            rest.exit();
            if let Some(new) = new {
                renamed.insert(id, new);
            }
        }
        let outputs = self.outputs.iter();
        let outputs = outputs.filter(|o| self.node(o.node).ty.axis == AxisKind::Aggregated);
        let outputs = outputs.map(|o| Output {
            name: o.name.clone(),
            node: renamed[&o.node],
        });
        let outputs = outputs.collect();
        let mut next: Vec<NodeId> = self.slots.iter().map(|slot| renamed[&slot.next]).collect();
        next.extend((0..values.len()).map(|at| rest.push(slot(at))));
        let rest = rest.close(outputs, &next);
        Ok(Parts { part, rest, merges })
    }

    /// Checks that nothing needs the whole batch at once.
    fn check_parts(&self) -> Result<(), Error> {
        let whole = |id: NodeId, reason: &'static str| {
            let link = self.link_of(id).to_owned();
            Err(Error::Whole { link, reason })
        };
        // Whether a value cannot be known before the batch is complete.
        let mut late = vec![false; self.nodes.len()];
        for (id, node) in self.numbered() {
            let reads_late = node.op.operands().any(|x| late[x.index()]);
            late[id.index()] =
                reads_late || matches!(node.op, Op::BatchSize | Op::OverExamples(..));
            match node.op {
                Op::OverExamples(Reduction::Median | Reduction::TrimmedMean { .. }, _) => {
                    return whole(id, "looks at all examples at once");
                }
                Op::Gram(_) | Op::Transpose(_) | Op::OverPairs(..) | Op::PairProduct(..) => {
                    return whole(id, "compares the examples with each other");
                }
                _ if node.ty.axis == AxisKind::PerExample && reads_late => {
                    return whole(
                        id,
                        "computes something of each example from the whole batch",
                    );
                }
                Op::OverExamples(_, of) if late[of.index()] => {
                    return whole(id, "reduces what depends on the whole batch");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn numbered(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        let ids = (0..).map(NodeId);
        ids.zip(&self.nodes)
    }

    /// The outputs that have the examples apart.
    fn apart(&self) -> impl Iterator<Item = &Output> {
        let outputs = self.outputs.iter();
        outputs.filter(|o| self.node(o.node).ty.axis == AxisKind::PerExample)
    }

    /// A node in another program. Named inputs are listed there as they are read.
    fn copy(&self, node: &Node, renamed: &HashMap<NodeId, NodeId>, to: &mut Graph) -> NodeId {
        match node.op {
            Op::Extra(at) => {
                let extra = &self.extras[at as usize];
                to.extra(&extra.name, extra.axis)
            }
            op => to.push(op.map_operands(|x| renamed[&x])),
        }
    }

    /// The same hyper-parameters, slots and selections, and nothing computed yet.
    fn without_nodes(&self) -> Graph {
        Graph::from_program(Self {
            nodes: Vec::new(),
            extras: Vec::new(),
            outputs: Vec::new(),
            ..self.clone()
        })
    }
}

impl Graph {
    /// A graph that goes on from a program without nodes.
    fn from_program(program: Program) -> Self {
        let mut graph = Self::new(program.input);
        graph.program = program;
        graph
    }

    /// Adds a slot whose next value [`close`](Self::close) tells.
    fn add_slot(&mut self, slot: Slot) {
        self.program.slots.push(slot);
    }

    /// Closes a graph that goes on from a program: its outputs, and the next value of each slot.
    fn close(self, outputs: Vec<Output>, next: &[NodeId]) -> Program {
        let mut program = self.program;
        program.outputs = outputs;
        for (slot, &next) in program.slots.iter_mut().zip(next) {
            slot.next = next;
        }
        let mut program = prune(program);
        // The named inputs that are still read.
        let extras = std::mem::take(&mut program.extras);
        for node in &mut program.nodes {
            if let Op::Extra(at) = &mut node.op {
                let extra = &extras[*at as usize];
                let known = program.extras.iter().position(|e| e.name == extra.name);
                *at = index_u32(known.unwrap_or_else(|| {
                    program.extras.push(extra.clone());
                    program.extras.len() - 1
                }));
            }
        }
        program
    }
}
