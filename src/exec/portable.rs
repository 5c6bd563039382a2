//! The portable executor: a plan by plain burn operations.

use burn::tensor::{DType, Device, Tensor};
use pergrad_transforms::program::{Binary, HostScalars, NodeId, Op};
use pergrad_transforms::{AxisKind, ExtentKind, Program};

use super::factored::{self, Factors, Value};
use super::ops::{self, Mask, Matrix};
use super::reduce;
use crate::grads::form::Form;
use crate::plan::{Plan, uses};

/// What a step reads. Everything is a matrix: rows are examples, columns are elements.
pub(crate) struct Inputs<'a> {
    pub(crate) program: &'a Program,
    pub(crate) plan: &'a Plan,
    pub(crate) host: &'a HostScalars,
    pub(crate) examples: usize,
    pub(crate) sizes: &'a [usize],
    /// For each leaf B rows of P elements, or one row of aggregated gradients, of any float dtype.
    pub(crate) grads: &'a [Form],
    /// For each leaf `[1, P]`, of any float dtype.
    pub(crate) params: &'a [Matrix],
    /// For each named input `[B, 1]` or `[1, 1]`.
    pub(crate) extras: &'a [Matrix],
    /// For each slot, for each leaf or once: `[1, P]` or `[1, 1]`.
    pub(crate) slots: &'a [Vec<Matrix>],
    /// f32 or f64.
    pub(crate) dtype: DType,
    pub(crate) device: &'a Device,
}

/// What a step gives.
pub(crate) struct Outputs {
    /// For each output, for each leaf or once.
    pub(crate) outputs: Vec<Vec<Matrix>>,
    /// For each slot, for each leaf or once.
    pub(crate) slots: Vec<Vec<Matrix>>,
}

#[derive(Clone)]
enum Cell {
    Number(Matrix),
    Factors(Box<Factors>),
    Mask(Mask),
}

/// The values of a leaf (or of all leaves) that will still be read.
struct Table {
    cells: Vec<Option<Cell>>,
    uses: Vec<u32>,
}

impl Table {
    fn store(&mut self, id: NodeId, cell: Cell) {
        if self.uses[id.index()] > 0 {
            self.cells[id.index()] = Some(cell);
        }
    }

    /// The value, which leaves the table at its last use, so that burn can work in place.
    fn take(&mut self, id: NodeId) -> Option<Cell> {
        let uses = &mut self.uses[id.index()];
        *uses = uses.saturating_sub(1);
        if *uses == 0 {
            self.cells[id.index()].take()
        } else {
            self.cells[id.index()].clone()
        }
    }
}

/// Computes one step.
pub(crate) fn run(inputs: &Inputs<'_>) -> Outputs {
    let nodes = inputs.program.nodes().len();
    let leaves = inputs.sizes.len();
    let mut tables: Vec<Table> = uses(inputs.program, inputs.host, leaves)
        .into_iter()
        .map(|uses| Table {
            cells: vec![None; nodes],
            uses,
        })
        .collect();
    let mut global = Table {
        cells: vec![None; nodes],
        uses: vec![u32::MAX; nodes],
    };
    for stage in &inputs.plan.stages {
        for &id in &stage.once {
            let needed = tables.iter().any(|table| table.uses[id.index()] > 0);
            if needed && !inputs.host.knows(id) {
                let cell = Leaf::new(inputs, &mut global, None, 0).evaluate(id);
                global.store(id, cell);
            }
        }
        let mut folds: Vec<Option<Matrix>> = vec![None; stage.over_leaves.len()];
        for (leaf, table) in tables.iter_mut().enumerate() {
            let mut leaf = Leaf::new(inputs, table, Some(&mut global), leaf);
            for &id in &stage.each_leaf {
                if leaf.table.uses[id.index()] > 0 && !inputs.host.knows(id) {
                    let cell = leaf.evaluate(id);
                    leaf.table.store(id, cell);
                }
            }
            for (sum, &id) in folds.iter_mut().zip(&stage.over_leaves) {
                let Op::OverLeaves(fold, operand) = inputs.program.node(id).op else {
                    unreachable!("the plan lists reductions over leaves")
                };
                if leaf.table.uses[id.index()] > 0 && !inputs.host.knows(id) {
                    let x = leaf.number(operand);
                    *sum = Some(match sum.take() {
                        Some(sum) => reduce::combine(fold, sum, x),
                        None => reduce::first(fold, x),
                    });
                }
            }
        }
        for (sum, &id) in folds.into_iter().zip(&stage.over_leaves) {
            if let Some(sum) = sum {
                global.store(id, Cell::Number(sum));
            }
        }
    }
    let mut collect = |id: NodeId, extent: ExtentKind, rows: usize, shared: bool| {
        let count = if shared { 1 } else { leaves };
        (0..count)
            .map(|leaf| {
                let columns = match extent {
                    ExtentKind::Leaf => inputs.sizes[leaf],
                    _ => 1,
                };
                let table = match tables.get_mut(leaf) {
                    Some(table) => table,
                    None => return inputs.full(0.0, [rows, columns]),
                };
                let x = Leaf::new(inputs, table, Some(&mut global), leaf).number(id);
                ops::expand(x, [rows, columns])
            })
            .collect::<Vec<_>>()
    };
    let program = inputs.program;
    let outputs = program.outputs().iter().enumerate().map(|(at, output)| {
        let ty = program.node(output.node).ty;
        let rows = match ty.axis {
            AxisKind::PerExample => inputs.examples,
            AxisKind::Aggregated => 1,
        };
        // Updates have the shape of the leaf even where the program gives one number.
        let extent = if at == 0 { ExtentKind::Leaf } else { ty.extent };
        collect(output.node, extent, rows, extent == ExtentKind::Global)
    });
    let outputs = outputs.collect();
    let slots = program.slots().iter().map(|slot| {
        let shared = slot.extent == ExtentKind::Global;
        collect(slot.next, slot.extent, 1, shared)
    });
    let slots = slots.collect();
    Outputs { outputs, slots }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Factors(factors) => Self::Factors(factors),
            Value::Dense(x) => Self::Number(x),
        }
    }
}

impl Inputs<'_> {
    fn full(&self, x: f64, shape: [usize; 2]) -> Matrix {
        Tensor::full(shape, x, (self.device, self.dtype))
    }

    fn cast(&self, x: &Matrix) -> Matrix {
        if x.dtype() == self.dtype {
            x.clone()
        } else {
            x.clone().cast(self.dtype)
        }
    }
}

/// The evaluation of nodes at one leaf.
struct Leaf<'a, 'b> {
    inputs: &'a Inputs<'b>,
    table: &'a mut Table,
    global: Option<&'a mut Table>,
    leaf: usize,
}

impl<'a, 'b> Leaf<'a, 'b> {
    fn new(
        inputs: &'a Inputs<'b>,
        table: &'a mut Table,
        global: Option<&'a mut Table>,
        leaf: usize,
    ) -> Self {
        Self {
            inputs,
            table,
            global,
            leaf,
        }
    }

    fn host(&self, id: NodeId) -> Option<f64> {
        self.inputs.host.get(id, self.leaf)
    }

    fn cell(&mut self, id: NodeId) -> Cell {
        let own = self.table.take(id);
        let shared = || self.global.as_mut().and_then(|global| global.take(id));
        own.or_else(shared).expect("operands come first")
    }

    fn number(&mut self, id: NodeId) -> Matrix {
        if let Some(x) = self.host(id) {
            return self.inputs.full(x, [1, 1]);
        }
        dense(self.cell(id))
    }

    fn mask(&mut self, id: NodeId) -> Mask {
        if let Some(x) = self.host(id) {
            return self.inputs.full(x, [1, 1]).equal_elem(1.0);
        }
        match self.cell(id) {
            Cell::Mask(x) => x,
            Cell::Number(_) | Cell::Factors(_) => unreachable!("programs are type-checked"),
        }
    }

    fn evaluate(&mut self, id: NodeId) -> Cell {
        let inputs = self.inputs;
        let number = match inputs.program.node(id).op {
            Op::Grads => {
                return factored::read(inputs.grads[self.leaf].clone(), inputs.dtype).into();
            }
            Op::Params => inputs.cast(&inputs.params[self.leaf]),
            Op::Extra(at) => inputs.cast(&inputs.extras[at as usize]),
            Op::State(at) => {
                let slot = &inputs.slots[at as usize];
                let shared = inputs.program.slots()[at as usize].extent == ExtentKind::Global;
                slot[if shared { 0 } else { self.leaf }].clone()
            }
            Op::Unary(f, a) => match self.cell(a) {
                Cell::Factors(x) => return x.unary(f).into(),
                x => ops::unary(f, dense(x)),
            },
            Op::Binary(f, a, b) => return self.binary(f, a, b),
            Op::Compare(f, a, b) => {
                return Cell::Mask(ops::compare(f, self.number(a), self.number(b)));
            }
            Op::Test(f, a) => return Cell::Mask(ops::test(f, self.number(a))),
            Op::And(a, b) => {
                let (a, b) = ops::broadcast(self.mask(a), self.mask(b));
                return Cell::Mask(a.bool_and(b));
            }
            Op::Not(a) => return Cell::Mask(self.mask(a).bool_not()),
            Op::Select(c, a, b) => return self.select(c, a, b),
            Op::OverExamples(reduction, a) => match self.cell(a) {
                Cell::Factors(x) => x.over_examples(reduction),
                x => {
                    let x = dense(x);
                    let columns = x.dims()[1];
                    reduce::over_examples(reduction, ops::expand(x, [inputs.examples, columns]))
                }
            },
            Op::OverElements(fold, a) => match self.cell(a) {
                Cell::Factors(x) => x.over_elements(fold),
                x => {
                    let x = dense(x);
                    let rows = x.dims()[0];
                    reduce::over_elements(fold, ops::expand(x, [rows, inputs.sizes[self.leaf]]))
                }
            },
            Op::Step
            | Op::BatchSize
            | Op::LeafSize
            | Op::Const(_)
            | Op::Hyper(_)
            | Op::Selected(_)
            | Op::OverLeaves(..) => unreachable!("known to the host, or reduced by the stage"),
        };
        Cell::Number(number)
    }

    fn binary(&mut self, f: Binary, a: NodeId, b: NodeId) -> Cell {
        Cell::Number(match (self.host(a), self.host(b)) {
            (Some(a), None) => match self.cell(b) {
                Cell::Factors(x) if f == Binary::Mul => return x.binary_right(f, a).into(),
                x => ops::binary_left(f, a, dense(x)),
            },
            (None, Some(b)) => match self.cell(a) {
                Cell::Factors(x) => return x.binary_right(f, b).into(),
                x => ops::binary_right(f, dense(x), b),
            },
            (Some(_), Some(_)) => unreachable!("known to the host"),
            (None, None) => match (self.cell(a), self.cell(b)) {
                (Cell::Factors(x), Cell::Number(weights)) => return x.scale(f, weights).into(),
                (Cell::Number(weights), Cell::Factors(x)) if f == Binary::Mul => {
                    return x.scale(f, weights).into();
                }
                (x, y) => ops::binary(f, dense(x), dense(y)),
            },
        })
    }

    fn select(&mut self, c: NodeId, a: NodeId, b: NodeId) -> Cell {
        match self.inputs.host.get_predicate(c, self.leaf) {
            Some(true) => return self.value(a),
            Some(false) => return self.value(b),
            None => {}
        }
        let condition = self.mask(c);
        let per_example = condition.dims()[1] == 1;
        if self.host(b) == Some(0.0) && per_example && self.host(a).is_none() {
            return match self.cell(a) {
                Cell::Factors(x) => Cell::Factors(Box::new(x.keep(condition))),
                x => Cell::Number(ops::select(condition, dense(x), self.number(b))),
            };
        }
        Cell::Number(ops::select(condition, self.number(a), self.number(b)))
    }

    /// A number, in factors if it is.
    fn value(&mut self, id: NodeId) -> Cell {
        if self.host(id).is_some() {
            return Cell::Number(self.number(id));
        }
        self.cell(id)
    }
}

/// A number in full.
fn dense(cell: Cell) -> Matrix {
    match cell {
        Cell::Number(x) => x,
        Cell::Factors(x) => x.into_dense(),
        Cell::Mask(_) => unreachable!("programs are type-checked"),
    }
}
