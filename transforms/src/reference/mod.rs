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
use crate::program::{NodeId, Number, Program};
use crate::runner::{HostTensor, Runner, StepInput, StepOutput};
use crate::state::{SlotState, State, VERSION};
use crate::tree::ParamTree;
use interpret::Cell;

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
    /// For each slot, for each leaf (or once): `[1, P]` or `[1, 1]`.
    slots: Vec<Vec<Array2<T>>>,
}

impl<T: Element> Reference<T> {
    /// The program over these leaves, before its first step.
    ///
    /// # Errors
    /// A selection of leaves that does not fit.
    pub fn new(program: &Program, tree: &ParamTree) -> Result<Self, Error> {
        let selected = program.selectors().iter().map(|s| s.select(tree));
        let sizes = tree.sizes();
        let slots = program.slots().iter().map(|slot| {
            let init = from_f64(slot.init.0);
            match slot.extent {
                ExtentKind::Leaf => sizes
                    .iter()
                    .map(|&p| Array2::from_elem((1, p), init))
                    .collect(),
                ExtentKind::PerLeaf => vec![Array2::from_elem((1, 1), init); sizes.len()],
                ExtentKind::Global => vec![Array2::from_elem((1, 1), init)],
                ExtentKind::Pairs | ExtentKind::LeafPairs => unreachable!("programs are checked"),
            }
        });
        Ok(Self {
            selected: selected.collect::<Result<_, _>>()?,
            slots: slots.collect(),
            hypers: program.hypers().iter().map(|h| h.value.clone()).collect(),
            program: program.clone(),
            tree: tree.clone(),
            sizes,
            step: 0,
        })
    }

    /// What it remembers.
    pub fn state(&self) -> State {
        let mut slots = Vec::new();
        for (slot, contents) in self.program.slots().iter().zip(&self.slots) {
            for (at, values) in contents.iter().enumerate() {
                let leaf = &self.tree.leaves();
                slots.push(SlotState {
                    name: slot.name.clone(),
                    leaf: (slot.extent != ExtentKind::Global).then(|| leaf[at].path.clone()),
                    shape: match slot.extent {
                        ExtentKind::Leaf => leaf[at].shape.clone(),
                        _ => vec![],
                    },
                    values: values.iter().map(|&x| Number(to_f64(x))).collect(),
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
        for (slot, contents) in self.program.slots().iter().zip(&mut self.slots) {
            for (at, values) in contents.iter_mut().enumerate() {
                let leaf = (slot.extent != ExtentKind::Global)
                    .then(|| self.tree.leaves()[at].path.as_str());
                let saved = state.get(&slot.name, leaf).expect("checked");
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
        let (values, batch) = self.execute(input)?;
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
            let leaves = if self.program.node(metric.node).ty.extent.is_shared() {
                1
            } else {
                self.tree.len()
            };
            let values = (0..leaves).flat_map(|leaf| number(metric.node, leaf).iter());
            let values = values.map(|&x| to_f64(x)).collect();
            output.metrics.insert(metric.name.clone(), values);
        }
        for (at, slot) in self.program.slots().iter().enumerate() {
            for leaf in 0..self.slots[at].len() {
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
