//! The reference: the meaning of a program, on `ndarray`.
//!
//! A plain interpreter, written for being right and readable, not fast. Every leaf is a matrix `[B or 1, P or 1]`, and every value
//! for pairs of examples one of `[B or 1, B]`, so each kind of value is a matrix and broadcasting is that of `ndarray`. Other
//! executors are tested against it.

mod axes;
mod fold;
mod interpret;
mod reduce;

use ndarray::Array2;
use num_traits::Float;

use crate::axis::AxisKind;
use crate::error::Error;
use crate::extent::ExtentKind;
use crate::hyper::Hyper;
use crate::program::{NodeId, Number, Program, Slot};
use crate::runner::{HostTensor, Runner, StepInput, StepOutput};
use crate::state::{SlotState, State, VERSION};
use crate::tree::ParamTree;
use interpret::{Cell, Executed};

/// The element types of the reference: `f32` and `f64`.
pub trait Element: Float + Send + Sync + std::iter::Sum + std::fmt::Debug + 'static {}
impl Element for f32 {}
impl Element for f64 {}

/// A program with its state, executed on `ndarray` in `T`.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// use pergrad_transforms::reference::Reference;
/// use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
/// use pergrad_transforms::{Dtype, LeafInfo, ParamTree};
///
/// let program = optimizer_program(&chain((square(), mean()))).unwrap();
/// let leaf = LeafInfo { path: "w".into(), shape: vec![1], dtype: Dtype::F64 };
/// let tree = ParamTree::new(vec![leaf]).unwrap();
/// let mut reference = Reference::<f64>::new(&program, &tree).unwrap();
/// let mut input = StepInput::default();
/// input.params.insert("w".into(), HostTensor::zeros([1]));
/// input.grads.insert("w".into(), HostTensor::new([4, 1], [0.0, 2.0, 4.0, 6.0]));
/// assert_eq!(reference.step(&input).unwrap().updates["w"].values, [14.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Reference<T> {
    program: Program,
    tree: ParamTree,
    sizes: Vec<usize>,
    selected: Vec<Vec<bool>>,
    hypers: Vec<Hyper>,
    step: u64,
    /// For each slot, for each leaf (or once): `[1, P]` or `[1, 1]`. A leaf that does not have the slot has one number in its place.
    slots: Vec<Vec<Array2<T>>>,
    /// For each slot what it holds, if it is of the host.
    host: Vec<Option<f64>>,
}

impl<T: Element> Reference<T> {
    /// The program over these leaves, before its first step.
    ///
    /// # Errors
    /// A selection of leaves that does not fit.
    pub fn new(program: &Program, tree: &ParamTree) -> Result<Self, Error> {
        let selected = program.select(tree)?;
        let sizes = tree.sizes();
        let slots = program.slots().iter().map(|slot| {
            let init = from_f64(slot.init.0);
            let has = |leaf: usize| slot.leaves.is_none_or(|at| selected[at as usize][leaf]);
            match slot.extent {
                ExtentKind::Leaf => (sizes.iter().enumerate())
                    .map(|(leaf, &p)| Array2::from_elem((1, if has(leaf) { p } else { 1 }), init))
                    .collect(),
                ExtentKind::PerLeaf => vec![Array2::from_elem((1, 1), init); sizes.len()],
                ExtentKind::Global => vec![Array2::from_elem((1, 1), init)],
                ExtentKind::Pairs | ExtentKind::LeafPairs => unreachable!("programs are checked"),
            }
        });
        let slots = slots.collect();
        let host = program.slots().iter().zip(program.host_slots());
        Ok(Self {
            selected,
            slots,
            host: host
                .map(|(slot, of_host)| of_host.then_some(slot.init.0))
                .collect(),
            hypers: program.hypers().iter().map(|h| h.value.clone()).collect(),
            program: program.clone(),
            tree: tree.clone(),
            sizes,
            step: 0,
        })
    }

    /// Whether a leaf has a slot.
    fn has(&self, slot: &Slot, leaf: usize) -> bool {
        let selected = slot.leaves.map(|at| &self.selected[at as usize]);
        selected.is_none_or(|selected| selected[leaf])
    }

    /// What it remembers.
    pub fn state(&self) -> State {
        let mut slots = Vec::new();
        for (number, (slot, contents)) in self.program.slots().iter().zip(&self.slots).enumerate() {
            for (at, values) in contents.iter().enumerate() {
                if !self.has(slot, at) {
                    continue;
                }
                let leaf = &self.tree.leaves();
                slots.push(SlotState {
                    name: slot.name.clone(),
                    leaf: (slot.extent != ExtentKind::Global).then(|| leaf[at].path.clone()),
                    shape: match slot.extent {
                        ExtentKind::Leaf => leaf[at].shape.clone(),
                        _ => vec![],
                    },
                    values: match self.host[number] {
                        Some(x) => vec![Number(x)],
                        None => values.iter().map(|&x| Number(to_f64(x))).collect(),
                    },
                });
            }
        }
        let names = self.program.hypers().iter().map(|h| h.name.clone());
        State {
            version: VERSION,
            rule: self.program.rule(),
            step: self.step,
            hypers: names.zip(self.hypers.iter().cloned()).collect(),
            slots,
        }
    }

    /// Goes on from a saved state.
    ///
    /// # Errors
    /// [`Error::State`] if it does not fit; then nothing has changed.
    pub fn load(&mut self, state: &State) -> Result<(), Error> {
        state.check(&self.program, &self.tree)?;
        for (number, slot) in self.program.slots().iter().enumerate() {
            for at in 0..self.slots[number].len() {
                if !self.has(slot, at) {
                    continue;
                }
                let leaf = (slot.extent != ExtentKind::Global)
                    .then(|| self.tree.leaves()[at].path.as_str());
                let saved = state.get(&slot.name, leaf).expect("checked");
                if let Some(host) = &mut self.host[number] {
                    *host = saved.values[0].0;
                }
                let values = &mut self.slots[number][at];
                for (value, saved) in values.iter_mut().zip(&saved.values) {
                    *value = from_f64(saved.0);
                }
            }
        }
        self.hypers = state.hypers.iter().map(|(_, h)| h.clone()).collect();
        self.step = state.step;
        Ok(())
    }
}

impl<T: Element> Runner for Reference<T> {
    fn step(&mut self, input: &StepInput) -> Result<StepOutput, Error> {
        let Executed {
            values,
            host,
            batch,
        } = self.execute(input)?;
        let number = |id: NodeId, leaf: usize| match &values[id.index()][leaf] {
            Cell::Number(x) => x,
            Cell::Predicate(_) => unreachable!("outputs are numbers"),
        };
        let mut output = StepOutput::default();
        let updates = self.program.updates();
        let rows = match self.program.output() {
            AxisKind::PerExample => batch,
            AxisKind::Aggregated => 1,
        };
        for (at, leaf) in self.tree.leaves().iter().enumerate() {
            let full = expand(number(updates, at), rows, self.sizes[at]);
            let mut shape = leaf.shape.clone();
            if self.program.output() == AxisKind::PerExample {
                shape.insert(0, batch);
            }
            let values: Vec<f64> = full.iter().map(|&x| to_f64(x)).collect();
            output
                .updates
                .insert(leaf.path.clone(), HostTensor::new(shape, values));
        }
        for metric in &self.program.outputs()[1..] {
            let ty = self.program.node(metric.node).ty;
            let leaves = if ty.extent.is_shared() {
                1
            } else {
                self.tree.len()
            };
            let rows = match ty.axis {
                AxisKind::PerExample => batch,
                AxisKind::Aggregated => 1,
            };
            let full = |leaf: usize| {
                let columns = match ty.extent {
                    ExtentKind::Leaf => self.sizes[leaf],
                    _ if ty.extent.has_pairs() => batch,
                    _ => 1,
                };
                expand(number(metric.node, leaf), rows, columns)
            };
            let values = (0..leaves).flat_map(full);
            let values = values.map(to_f64).collect();
            output.metrics.insert(metric.name.clone(), values);
        }
        for (at, slot) in self.program.slots().iter().enumerate() {
            if self.host[at].is_some() {
                self.host[at] = host.get(slot.next, 0);
                continue;
            }
            for leaf in 0..self.slots[at].len() {
                if !self.has(slot, leaf) {
                    continue;
                }
                let columns = match slot.extent {
                    ExtentKind::Leaf => self.sizes[leaf],
                    _ => 1,
                };
                self.slots[at][leaf] = expand(number(slot.next, leaf), 1, columns);
            }
        }
        self.step += 1;
        Ok(output)
    }
}

#[allow(clippy::cast_possible_truncation)] // rounding to f32 is what the f32 reference is for
fn from_f64<T: Float>(x: f64) -> T {
    T::from(x).expect("f64 converts to every float")
}

fn to_f64<T: Float>(x: T) -> f64 {
    x.to_f64().expect("every float converts to f64")
}

fn expand<T: Clone>(x: &Array2<T>, rows: usize, columns: usize) -> Array2<T> {
    x.broadcast((rows, columns))
        .expect("kinds of values broadcast")
        .to_owned()
}
