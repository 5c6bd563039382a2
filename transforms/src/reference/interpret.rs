//! The evaluation of a program, node after node, for all leaves.

use ndarray::{Array2, Zip};

use super::axes::{along_axes, product3};
use super::fold::{gram, over_columns, over_leaves, pair_product};
use super::{Element, Reference, expand, from_f64, reduce, to_f64};
use crate::axis::AxisKind;
use crate::error::Error;
use crate::extent::ExtentKind;
use crate::program::{HostInputs, HostScalars, NodeId, Op};
use crate::random::normals;
use crate::runner::{HostTree, StepInput};

/// For each node, its value at each leaf.
pub(super) type Values<T> = Vec<Vec<Cell<T>>>;

/// A value at a leaf.
#[derive(Clone, Debug)]
pub(super) enum Cell<T> {
    Number(Array2<T>),
    Predicate(Array2<bool>),
}

/// What a step begins with, beside the state.
struct Given<'a, T> {
    input: &'a StepInput,
    extras: &'a [Array2<T>],
    /// For each stream of random numbers, the steps before.
    counts: &'a [u64],
}

/// What a step computes.
pub(super) struct Executed<T> {
    pub(super) values: Values<T>,
    pub(super) host: HostScalars,
    pub(super) batch: usize,
}

impl<T: Element> Reference<T> {
    /// The numbers that the host knows of the state, for each slot.
    fn known_state(&self) -> Vec<Option<f64>> {
        let mut known = self.host.clone();
        for at in self.program.slots_to_read(&self.hypers) {
            known[at as usize] = Some(to_f64(self.slots[at as usize][0][[0, 0]]));
        }
        known
    }

    /// Executes the program; the caller stores the new state.
    pub(super) fn execute(&self, input: &StepInput) -> Result<Executed<T>, Error> {
        let axis = self.program.input();
        let shapes = input.grads.iter();
        let shapes = shapes.map(|(path, g)| (path.as_str(), &g.shape[..]));
        let batch = self.tree.check_grads(axis, shapes)?;
        let shapes = input.params.iter();
        let shapes = shapes.map(|(path, p)| (path.as_str(), &p.shape[..]));
        self.tree.check_params(shapes)?;
        self.program.check_batch(batch)?;
        let extras = self.extras(input, batch)?;
        let known = self.known_state();
        let program = &self.program;
        let hypers = program.hyper_values_knowing(&self.hypers, self.step, &known)?;
        let counts = program.stream_counts(self.step, &known)?;
        let host = HostScalars::compute_knowing(
            program,
            &HostInputs {
                step: self.step,
                batch,
                hypers: &hypers,
                leaf_sizes: &self.sizes,
                selected: &self.selected,
            },
            &known,
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
                    let cells = values[a.index()].iter().map(|cell| match cell {
                        Cell::Number(x) => x,
                        Cell::Predicate(_) => unreachable!("programs are type-checked"),
                    });
                    Cell::Number(over_leaves(fold, cells, self.tree.is_empty()))
                } else {
                    let given = Given {
                        input,
                        extras: &extras,
                        counts: &counts,
                    };
                    self.evaluate(node.op, leaf, batch, &given, &values)
                };
                cells.push(cell);
            }
            values.push(cells);
        }
        Ok(Executed {
            values,
            host,
            batch,
        })
    }

    fn extras(&self, input: &StepInput, batch: usize) -> Result<Vec<Array2<T>>, Error> {
        let given = input.extras.iter();
        let given = given.map(|(name, values)| (name.as_str(), values.len()));
        self.program.check_extras(batch, given)?;
        let extras = self.program.extras().iter().map(|extra| {
            let values = input.extras[&extra.name].iter();
            let values: Vec<T> = values.map(|&x| from_f64(x)).collect();
            Array2::from_shape_vec((values.len(), 1), values).expect("one column")
        });
        Ok(extras.collect())
    }

    fn evaluate(
        &self,
        op: Op,
        leaf: usize,
        batch: usize,
        given: &Given<'_, T>,
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
                Cell::Number(matrix(&given.input.grads, rows))
            }
            Op::Params => Cell::Number(matrix(&given.input.params, 1)),
            Op::Extra(at) => Cell::Number(given.extras[at as usize].clone()),
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
            Op::Normal(at) => {
                let (key, count) = (
                    &self.program.streams()[at as usize].key,
                    given.counts[at as usize],
                );
                let numbers = normals(key, count, leaf, 0..size);
                let numbers = numbers.into_iter().map(from_f64).collect();
                Cell::Number(Array2::from_shape_vec((1, size), numbers).expect("one row"))
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
            Op::OverElements(fold, a) => Cell::Number(over_columns(fold, number(a), size)),
            Op::AlongAxes(fold, axes, a) => {
                let x = expand(number(a), number(a).nrows(), size);
                let shape = self.tree.leaves().get(leaf);
                let shape = shape.map_or(&[][..], |leaf| &leaf.shape);
                Cell::Number(along_axes(fold, &axes.of(shape), &x, shape))
            }
            Op::Product3(a, b, c) => {
                let [a, b, c] = [a, b, c].map(number);
                let rows = a.nrows().max(b.nrows()).max(c.nrows());
                let [a, b, c] = [a, b, c].map(|x| expand(x, rows, size));
                let shape = self.tree.leaves().get(leaf);
                let rows = match shape.map_or(&[][..], |leaf| &leaf.shape) {
                    [first, _, ..] => *first,
                    _ => 1,
                };
                Cell::Number(product3(&a, &b, &c, rows))
            }
            Op::Gram(a) => Cell::Number(gram(&expand(number(a), batch, size))),
            Op::PairProduct(a, b) => Cell::Number(pair_product(number(a), number(b), batch)),
            Op::OverPairs(fold, a) => Cell::Number(over_columns(fold, number(a), batch)),
            Op::Transpose(a) => Cell::Number(number(a).t().to_owned()),
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

pub(super) fn broadcast<X, Y, Z>(
    x: &Array2<X>,
    y: &Array2<Y>,
    f: impl Fn(&X, &Y) -> Z,
) -> Array2<Z> {
    let common = |a: usize, b: usize| if a == 1 { b } else { a };
    let shape = (common(x.nrows(), y.nrows()), common(x.ncols(), y.ncols()));
    let x = x.broadcast(shape).expect("kinds of values broadcast");
    let y = y.broadcast(shape).expect("kinds of values broadcast");
    Zip::from(&x).and(&y).map_collect(f)
}
