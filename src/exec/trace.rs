//! What a step did: which nodes were computed how, for [`Optimizer::explain`](crate::Optimizer::explain).

use std::fmt::Write;

use pergrad_transforms::program::NodeId;
use pergrad_transforms::{ParamTree, Program};

/// Something that was computed.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The gradients of a leaf came, and are held like this.
    Given { leaf: usize, held: String },
    /// A node of a leaf, or of all leaves.
    Node {
        leaf: Option<usize>,
        how: How,
        node: NodeId,
    },
    /// One pass over a leaf.
    Kernel {
        leaf: usize,
        nodes: Vec<NodeId>,
        read: Moved,
        written: Moved,
    },
}

/// How one node was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Of the factors of a leaf, without making it in full.
    Factors,
    /// Some columns at a time, since in full it would be beyond the memory budget.
    Tiles,
    /// By an operation of burn.
    Plain,
}

/// Tensors that a pass moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) tensors: usize,
    pub(crate) elements: usize,
}

impl Moved {
    /// Tensors of so many elements each.
    pub(crate) fn of(elements: impl ExactSizeIterator<Item = usize>) -> Self {
        Self {
            tensors: elements.len(),
            elements: elements.sum(),
        }
    }
}

/// The text of a step: for each leaf what was computed in which pass, and the bytes each pass moved.
pub(crate) fn text(program: &Program, tree: &ParamTree, bytes: usize, events: &[Event]) -> String {
    let mut out = String::new();
    let list = |nodes: &[NodeId]| {
        let nodes = nodes.iter().map(|&node| program.text_of(node));
        nodes.collect::<Vec<_>>().join("\n    ")
    };
    let shared: Vec<NodeId> = events
        .iter()
        .filter_map(|event| match event {
            Event::Node {
                leaf: None, node, ..
            } => Some(*node),
            _ => None,
        })
        .collect();
    if !shared.is_empty() {
        let _ = writeln!(out, "for all leaves together\n    {}", list(&shared));
    }
    for (at, leaf) in tree.leaves().iter().enumerate() {
        let _ = write!(out, "leaf `{}` {:?}", leaf.path, leaf.shape);
        for event in events {
            match event {
                Event::Given { leaf, held } if *leaf == at => {
                    let _ = write!(out, ", gradients {held}");
                }
                _ => {}
            }
        }
        out.push('\n');
        for event in events {
            match event {
                Event::Node {
                    leaf: Some(leaf),
                    how,
                    node,
                } if *leaf == at => {
                    let how = match how {
                        How::Factors => "from factors",
                        How::Tiles => "in tiles",
                        How::Plain => "by burn",
                    };
                    let _ = writeln!(out, "  {how}\n    {}", program.text_of(*node));
                }
                Event::Kernel {
                    leaf,
                    nodes,
                    read,
                    written,
                } if *leaf == at => {
                    let _ = writeln!(
                        out,
                        "  one pass, reads {} ({} B), writes {} ({} B)\n    {}",
                        read.tensors,
                        read.elements * bytes,
                        written.tensors,
                        written.elements * bytes,
                        list(nodes)
                    );
                }
                _ => {}
            }
        }
    }
    out
}

/// How many passes there were.
pub(crate) fn kernels(events: &[Event]) -> usize {
    let kernels = events.iter();
    kernels
        .filter(|event| matches!(event, Event::Kernel { .. }))
        .count()
}
