//! The program of a chain: a small, pure, printable data structure.
//!
//! A chain is traced once. `chain((sign(), mean(), ema(0.9)))` becomes
//!
//! ```text
//! program per-example [B, ..p] -> aggregated [..p]
//! %0 = sign g                      [B,P]
//! %1 = mean_B %0                   [P]
//! %2 = mul @ema.moment $ema.decay  [P]
//! ...
//! ```
//!
//! Nodes stand in evaluation order and are hash-consed: two links that need `mean g` share one node. The program is
//! written once and holds for every leaf of the model; only [`Op::OverLeaves`] looks across leaves. A value has one
//! of the [kinds](ValueType) `[B,P]`, `[P]`, `[B]`, `[]`, `[B,B]`, `[1,B]`, each of the last four either for one leaf or for all.
//! The last two are for [pairs of examples](crate::extent): [`Op::Gram`] makes them, and [`Op::OverPairs`] ends them.
//! Values that depend on nothing but hyper-parameters, the step count, B, the sizes of the leaves and random numbers that are not for
//! elements are *scalars of the host*: they are computed in f64 by [`HostScalars`] and never touch a device, so `1 - decay^t` is
//! exact whatever the dtype of the parameters. A slot over all leaves that is set to such a value, and was before, is
//! [of the host](Program::host_slots) too: so a counter is, and what a link does at every k-th step only, it does only then.

mod axes;
mod checked;
mod display;
mod graph;
mod host;
mod leafwise;
mod named;
mod number;
mod op;
mod parts;
mod scope;
mod stream;

use serde::{Deserialize, Serialize};

pub use axes::Axes;
pub(crate) use graph::Graph;
pub use host::{HostInputs, HostScalars};
pub use number::Number;
pub use op::{Binary, Comparison, Fold, Op, Reduction, Test, Unary};
pub use parts::{Merge, Parts};
pub(crate) use scope::When;
pub use stream::Stream;

use crate::axis::AxisKind;
use crate::extent::ExtentKind;
use crate::hyper::{Domain, Hyper};
use crate::leaves::Leaves;

/// A node of a program, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A hyper-parameter of a program, by its position in [`Program::hypers`].
pub type HyperId = u32;
/// A state slot of a program, by its position in [`Program::slots`].
pub type SlotId = u32;
/// A named input of a program, by its position in [`Program::extras`].
pub type ExtraId = u32;
/// Random numbers of a program, by their position in [`Program::streams`].
pub type StreamId = u32;
/// A selection of leaves, by its position in [`Program::selectors`].
pub type SelectorId = u32;

/// Where the batch axis is, how far the value reaches, and whether it is a number or a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ValueType {
    /// With or without the batch axis.
    pub axis: AxisKind,
    /// Over elements, for each leaf, or for all leaves; or over pairs of examples.
    pub extent: ExtentKind,
    /// True for a predicate, false for a number.
    pub predicate: bool,
}

/// One operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// The kind of its value.
    pub ty: ValueType,
    /// The link that asked for it first, by its position in [`Program::links`].
    pub link: u32,
}

/// A hyper-parameter with its name and the values that make sense for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HyperSlot {
    /// `"link.field"`, or the name the link or the user gave it.
    pub name: String,
    /// The value or schedule the chain was built with.
    pub value: Hyper,
    /// The values that make sense.
    pub domain: Domain,
    /// The slot that counts the steps a schedule is evaluated at; nothing for the step count of the program. Links whose steps
    /// may be skipped have a count of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<SlotId>,
}

/// A piece of state that lives from step to step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// `"link.field"`.
    pub name: String,
    /// Over elements, for each leaf, or for all leaves. State never has a batch axis, nor pairs of examples.
    pub extent: ExtentKind,
    /// What it holds before the first step.
    pub init: Number,
    /// The leaves that have it; nothing for all. In another leaf it is the number `init` at every step and nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves: Option<SelectorId>,
    /// The value it holds after a step.
    pub next: NodeId,
}

/// A named input that the caller gives at each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtraSlot {
    /// The name.
    pub name: String,
    /// [`AxisKind::PerExample`] for one number an example, [`AxisKind::Aggregated`] for one number.
    pub axis: AxisKind,
}

/// A value the program gives back: the first one is `"updates"`, the others are metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The name.
    pub name: String,
    /// The value.
    pub node: NodeId,
}

/// A traced chain. See the [module](self) for the idea; `Display` gives its canonical text.
///
/// Built by [`program`](crate::program()) and [`optimizer_program`](crate::optimizer_program()); its parts are read by
/// interpreters and planners through the accessors. As serde data it is checked when it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "checked::RawProgram", into = "checked::RawProgram")]
pub struct Program {
    input: AxisKind,
    nodes: Vec<Node>,
    hypers: Vec<HyperSlot>,
    slots: Vec<Slot>,
    extras: Vec<ExtraSlot>,
    streams: Vec<Stream>,
    selectors: Vec<Leaves>,
    links: Vec<String>,
    outputs: Vec<Output>,
}

impl Program {
    /// Whether the program takes per-example or aggregated gradients.
    pub fn input(&self) -> AxisKind {
        self.input
    }

    /// Whether the updates are aggregated or still have the examples apart.
    pub fn output(&self) -> AxisKind {
        self.node(self.updates()).ty.axis
    }

    /// The operations in evaluation order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One operation.
    ///
    /// # Panics
    /// If the node is of another program.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The hyper-parameters with the values the chain was built with.
    pub fn hypers(&self) -> &[HyperSlot] {
        &self.hypers
    }

    /// The state slots.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The named inputs.
    pub fn extras(&self) -> &[ExtraSlot] {
        &self.extras
    }

    /// The random numbers.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// The selections of leaves.
    pub fn selectors(&self) -> &[Leaves] {
        &self.selectors
    }

    /// The names of the links that nodes point to.
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// The link that asked for a node.
    pub fn link_of(&self, id: NodeId) -> &str {
        &self.links[self.node(id).link as usize]
    }

    /// What the program gives back: the updates first, then the metrics.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The node of the updates.
    pub fn updates(&self) -> NodeId {
        self.outputs[0].node
    }

    /// The same program, whose first output is not the updates but the parameters after them, `p + updates`, under the name
    /// `"parameters"`. State and metrics are the same.
    ///
    /// # Panics
    /// If the updates still have the examples apart.
    #[must_use]
    pub fn applied(&self) -> Self {
        assert_eq!(
            self.output(),
            AxisKind::Aggregated,
            "updates of every example"
        );
        graph::applied(self.clone())
    }

    /// Checks that a step gives every named input that the program reads, of the right length. Others are ignored, so that chains with
    /// and without an input may change places.
    ///
    /// # Errors
    /// A missing name, or another length than 1 or the number of examples.
    pub fn check_extras<'a>(
        &self,
        examples: usize,
        given: impl IntoIterator<Item = (&'a str, usize)>,
    ) -> Result<(), crate::Error> {
        let given: Vec<(&str, usize)> = given.into_iter().collect();
        for extra in &self.extras {
            let expected = match extra.axis {
                AxisKind::PerExample => examples,
                AxisKind::Aggregated => 1,
            };
            let name = extra.name.clone();
            match given.iter().find(|(known, _)| *known == extra.name) {
                None => {
                    let given = given.iter().map(|(name, _)| (*name).to_owned()).collect();
                    return Err(crate::Error::MissingExtra { name, given });
                }
                Some(&(_, got)) if got != expected => {
                    return Err(crate::Error::ExtraLength {
                        name,
                        expected,
                        got,
                    });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Checks that every reduction has a value for a batch of `examples`.
    ///
    /// # Errors
    /// [`Error::TooFewExamples`](crate::Error::TooFewExamples), naming the link.
    pub fn check_batch(&self, examples: usize) -> Result<(), crate::Error> {
        for node in &self.nodes {
            if let Op::OverExamples(reduction, _) = node.op
                && examples < reduction.needs()
            {
                return Err(crate::Error::TooFewExamples {
                    link: self.links[node.link as usize].clone(),
                    needs: reduction.needs(),
                    got: examples,
                });
            }
        }
        Ok(())
    }
}
