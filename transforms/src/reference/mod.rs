//! The reference: the meaning of a program, on `ndarray`.
//!
//! A plain interpreter, written for being right and readable, not fast. Every leaf is a matrix `[B or 1, P or 1]`, so
//! each kind of value is a matrix and broadcasting is that of `ndarray`. Other executors are tested against it.

mod reduce;

use ndarray::{Array2, Axis, Zip};
use num_traits::Float;

use crate::axis::AxisKind;
use crate::error::Error;
use crate::extent::ExtentKind;
use crate::hyper::Hyper;
use crate::program::{Binary, Fold, HostInputs, HostScalars, NodeId, Number, Op, Program};
use crate::runner::{HostTensor, HostTree, Runner, StepInput, StepOutput};
use crate::state::{SlotState, State, VERSION};
use crate::tree::ParamTree;

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

/// For each node, its value at each leaf.
type Values<T> = Vec<Vec<Cell<T>>>;

/// A value at a leaf.
#[derive(Clone, Debug)]
enum Cell<T> {
    Number(Array2<T>),
    Predicate(Array2<bool>),
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

    /// Executes the program; the caller stores the new state.
    fn execute(&self, input: &StepInput) -> Result<(Values<T>, usize), Error> {
        let axis = self.program.input();
        let shapes = input.grads.iter();
        let shapes = shapes.map(|(path, g)| (path.as_str(), &g.shape[..]));
        let batch = self.tree.check_grads(axis, shapes)?;
        let shapes = input.params.iter();
        let shapes = shapes.map(|(path, p)| (path.as_str(), &p.shape[..]));
        self.tree.check_params(shapes)?;
        self.program.check_batch(batch)?;
        let extras = self.extras(input, batch)?;
        let hypers = self.program.hyper_values(&self.hypers, self.step)?;
        let host = HostScalars::compute(
            &self.program,
            &HostInputs {
                step: self.step,
                batch,
                hypers: &hypers,
                leaf_sizes: &self.sizes,
                selected: &self.selected,
            },
        );
        // A model without parameters is computed as one leaf without elements: it may still have numbers of its own.
        let leaves = self.tree.len().max(1);
        let mut values: Values<T> = Vec::new();
        for (at, node) in self.program.nodes().iter().enumerate() {
            let id = NodeId(u32::try_from(at).expect("few nodes"));
            let mut cells = Vec::with_capacity(leaves);
            for leaf in 0..leaves {
                let cell = if let Some(x) = host.get(id, leaf) {
                    if node.ty.predicate {
                        Cell::Predicate(Array2::from_elem((1, 1), x != 0.0))
                    } else {
                        Cell::Number(Array2::from_elem((1, 1), from_f64(x)))
                    }
                } else if let Op::OverLeaves(fold, a) = node.op {
                    Cell::Number(over_leaves(fold, &values[a.index()], self.tree.is_empty()))
                } else {
                    self.evaluate(node.op, leaf, batch, input, &extras, &values)
                };
                cells.push(cell);
            }
            values.push(cells);
        }
        Ok((values, batch))
    }

    fn extras(&self, input: &StepInput, batch: usize) -> Result<Vec<Array2<T>>, Error> {
        let known = self.program.extras();
        if let Some(name) = input
            .extras
            .keys()
            .find(|name| !known.iter().any(|e| e.name == **name))
        {
            return Err(Error::UnknownExtra {
                name: name.clone(),
                known: known.iter().map(|e| e.name.clone()).collect(),
            });
        }
        let extras = known.iter().map(|extra| {
            let values = input.extras.get(&extra.name);
            let values = values.ok_or_else(|| Error::MissingExtra {
                name: extra.name.clone(),
            })?;
            let expected = match extra.axis {
                AxisKind::PerExample => batch,
                AxisKind::Aggregated => 1,
            };
            if values.len() != expected {
                return Err(Error::ExtraLength {
                    name: extra.name.clone(),
                    expected,
                    got: values.len(),
                });
            }
            let values = values.iter().map(|&x| from_f64(x)).collect();
            Ok(Array2::from_shape_vec((expected, 1), values).expect("the length is checked"))
        });
        extras.collect()
    }

    fn evaluate(
        &self,
        op: Op,
        leaf: usize,
        batch: usize,
        input: &StepInput,
        extras: &[Array2<T>],
        values: &[Vec<Cell<T>>],
    ) -> Cell<T> {
        let number = |id: NodeId| match &values[id.index()][leaf] {
            Cell::Number(x) => x,
            Cell::Predicate(_) => unreachable!("programs are type-checked"),
        };
        let predicate = |id: NodeId| match &values[id.index()][leaf] {
            Cell::Predicate(x) => x,
            Cell::Number(_) => unreachable!("programs are type-checked"),
        };
        let size = self.sizes.get(leaf).copied().unwrap_or(0);
        let matrix = |tensors: &HostTree, rows: usize| match self.tree.leaves().get(leaf) {
            None => Array2::zeros((rows, size)),
            Some(leaf) => {
                let values = tensors[&leaf.path].values.iter();
                let values = values.map(|&x| from_f64(x)).collect();
                Array2::from_shape_vec((rows, size), values).expect("the shapes are checked")
            }
        };
        match op {
            Op::Grads => {
                let rows = match self.program.input() {
                    AxisKind::PerExample => batch,
                    AxisKind::Aggregated => 1,
                };
                Cell::Number(matrix(&input.grads, rows))
            }
            Op::Params => Cell::Number(matrix(&input.params, 1)),
            Op::Extra(at) => Cell::Number(extras[at as usize].clone()),
            Op::State(at) => {
                let contents = &self.slots[at as usize];
                let slot = &self.program.slots()[at as usize];
                Cell::Number(match slot.extent {
                    ExtentKind::Global => contents[0].clone(),
                    ExtentKind::Leaf if contents.is_empty() => Array2::zeros((1, 0)),
                    _ if contents.is_empty() => Array2::from_elem((1, 1), from_f64(slot.init.0)),
                    _ => contents[leaf].clone(),
                })
            }
            Op::Unary(f, a) => Cell::Number(number(a).mapv(|x| f.apply(x))),
            Op::Binary(f, a, b) => {
                Cell::Number(broadcast(number(a), number(b), |x, y| f.apply(*x, *y)))
            }
            Op::Compare(f, a, b) => {
                Cell::Predicate(broadcast(number(a), number(b), |x, y| f.apply(*x, *y)))
            }
            Op::Test(f, a) => Cell::Predicate(number(a).mapv(|x| f.apply(x))),
            Op::And(a, b) => {
                Cell::Predicate(broadcast(predicate(a), predicate(b), |x, y| *x && *y))
            }
            Op::Not(a) => Cell::Predicate(predicate(a).mapv(|x| !x)),
            Op::Select(c, a, b) => {
                let pairs = broadcast(number(a), number(b), |x, y| (*x, *y));
                Cell::Number(broadcast(
                    predicate(c),
                    &pairs,
                    |c, (x, y)| {
                        if *c { *x } else { *y }
                    },
                ))
            }
            Op::OverExamples(reduction, a) => {
                let rows = broadcast(number(a), &Array2::from_elem((batch, 1), ()), |x, ()| *x);
                Cell::Number(reduce::over_examples(reduction, &rows))
            }
            Op::OverElements(fold, a) => Cell::Number(over_elements(fold, number(a), size)),
            Op::Step
            | Op::BatchSize
            | Op::LeafSize
            | Op::Const(_)
            | Op::Hyper(_)
            | Op::Selected(_)
            | Op::OverLeaves(..) => unreachable!("computed before"),
        }
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
            let leaves = match self.program.node(metric.node).ty.extent {
                ExtentKind::Global => 1,
                _ => self.tree.len(),
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

fn broadcast<X, Y, Z>(x: &Array2<X>, y: &Array2<Y>, f: impl Fn(&X, &Y) -> Z) -> Array2<Z> {
    let common = |a: usize, b: usize| if a == 1 { b } else { a };
    let shape = (common(x.nrows(), y.nrows()), common(x.ncols(), y.ncols()));
    let x = x.broadcast(shape).expect("kinds of values broadcast");
    let y = y.broadcast(shape).expect("kinds of values broadcast");
    Zip::from(&x).and(&y).map_collect(f)
}

fn fold<T: Float>(fold: Fold, values: impl Iterator<Item = T>) -> T {
    match fold {
        Fold::Sum => values.fold(T::zero(), |x, y| x + y),
        Fold::Max => values.fold(T::zero(), |x, y| Binary::Max.apply(x, y)),
    }
}

/// Rows in blocks, so that a long f32 sum stays right: the error grows with the square root of the length, not with it.
fn over_elements<T: Element>(f: Fold, x: &Array2<T>, size: usize) -> Array2<T> {
    let x = expand(x, x.nrows(), size);
    let rows = x.axis_iter(Axis(0)).map(|row| {
        let row = row.to_vec();
        let blocks: Vec<T> = row
            .chunks(1024)
            .map(|block| fold(f, block.iter().copied()))
            .collect();
        let blocks: Vec<T> = blocks
            .chunks(1024)
            .map(|block| fold(f, block.iter().copied()))
            .collect();
        fold(f, blocks.into_iter())
    });
    let rows: Vec<T> = rows.collect();
    Array2::from_shape_vec((rows.len(), 1), rows).expect("one number a row")
}

fn over_leaves<T: Element>(f: Fold, leaves: &[Cell<T>], is_empty: bool) -> Array2<T> {
    let mut total: Option<Array2<T>> = None;
    for leaf in leaves {
        let Cell::Number(x) = leaf else {
            unreachable!("programs are type-checked")
        };
        total = Some(match total {
            None if is_empty => x.mapv(|_| fold(f, std::iter::empty())),
            None => x.clone(),
            Some(sum) => broadcast(&sum, x, |&a, &b| fold(f, [a, b].into_iter())),
        });
    }
    total.expect("at least one leaf")
}
