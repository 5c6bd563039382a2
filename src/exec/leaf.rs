//! The evaluation of nodes at one leaf, by plain burn operations. [`fused`](super::fused) takes what can wait for a kernel.

use std::rc::Rc;

use pergrad_transforms::ExtentKind;
use pergrad_transforms::program::{Binary, NodeId, Op};

use super::along;
use super::cell::Cell;
use super::deferred::Expression;
use super::factored::Factors;
use super::noise;
use super::ops::{self, Mask, Matrix};
use super::portable::Inputs;
use super::reduce;
use super::table::Table;
use super::trace::Event;

/// What a step has beside its values, whatever the leaf.
pub(super) struct Held {
    /// The state, for each slot, for each leaf or once; each is read once.
    pub(super) slots: Vec<Vec<Option<Matrix>>>,
    /// The parameters, for each leaf; each is read once.
    pub(super) params: Vec<Option<Matrix>>,
    /// What has been computed how.
    pub(super) events: Vec<Event>,
}

/// One leaf, or (without `global`) what all leaves share.
pub(super) struct Leaf<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) held: &'a mut Held,
    pub(super) table: &'a mut Table,
    pub(super) global: Option<&'a mut Table>,
    pub(super) leaf: usize,
    /// Nodes that wait for a kernel.
    pub(super) pending: Vec<NodeId>,
}

impl<'a> Leaf<'a> {
    pub(super) fn new(
        inputs: &'a Inputs,
        held: &'a mut Held,
        table: &'a mut Table,
        global: Option<&'a mut Table>,
        leaf: usize,
    ) -> Self {
        Self {
            inputs,
            held,
            table,
            global,
            leaf,
            pending: Vec::new(),
        }
    }

    pub(super) fn host(&self, id: NodeId) -> Option<f64> {
        self.inputs.host.get(id, self.leaf)
    }

    pub(super) fn cell(&mut self, id: NodeId) -> Cell {
        let own = self.table.take(id);
        let shared = || self.global.as_mut().and_then(|global| global.take(id));
        own.or_else(shared).expect("operands come first")
    }

    /// A cell, a number of the host too.
    fn any(&mut self, id: NodeId) -> Cell {
        match self.host(id) {
            Some(x) => Cell::Number(self.inputs.full(x, [1, 1])),
            None => self.cell(id),
        }
    }

    /// A number in full.
    pub(super) fn number(&mut self, id: NodeId) -> Matrix {
        self.any(id).into_dense()
    }

    /// A predicate.
    fn predicate(&mut self, id: NodeId) -> Cell {
        match self.host(id) {
            Some(x) => Cell::Mask(self.inputs.full(x, [1, 1]).equal_elem(1.0)),
            None => self.cell(id),
        }
    }

    /// A number that is in full or deferred.
    fn plain(&mut self, id: NodeId) -> Cell {
        self.any(id).leave_factors(&self.inputs.settings)
    }

    /// A value in factors, if it is here.
    fn factors(&self, id: NodeId) -> Option<Box<Factors>> {
        match self.table.peek(id) {
            Some(Cell::Factors(x)) => Some(x.clone()),
            _ => None,
        }
    }

    /// What the factors of an operand tell of a node, without the operand in full.
    pub(super) fn told(&mut self, id: NodeId) -> Option<Cell> {
        let settings = &self.inputs.settings;
        let value = match self.inputs.program.node(id).op {
            Op::Unary(f, a) => self.factors(a)?.unary(f).map(Cell::Factors),
            Op::Binary(f, a, b) => match (self.host(a), self.host(b)) {
                (None, Some(c)) => self.factors(a)?.binary_right(f, c).map(Cell::Factors),
                (Some(c), None) if f == Binary::Mul => {
                    self.factors(b)?.binary_right(f, c).map(Cell::Factors)
                }
                (None, None) => {
                    let (x, by) = match self.factors(a) {
                        Some(x) => (x, b),
                        None if f == Binary::Mul => (self.factors(b)?, a),
                        None => return None,
                    };
                    let Some(Cell::Number(by)) = self.peek(by) else {
                        return None;
                    };
                    x.scale(f, by.clone()).map(Cell::Factors)
                }
                _ => return None,
            },
            Op::Select(c, ..) if self.host(c).is_some() => {
                // The branch that the host has chosen, as it is.
                let taken = self.operands(id)[0];
                Ok(Cell::Factors(self.factors(taken)?))
            }
            Op::Select(c, a, b) => {
                let x = self.factors(a)?;
                match (self.host(b), self.peek(c)) {
                    (Some(0.0), Some(Cell::Mask(condition))) if condition.dims()[1] == 1 => {
                        x.keep(condition.clone()).map(Cell::Factors)
                    }
                    _ => return None,
                }
            }
            Op::OverExamples(f, a) => self.factors(a)?.over_examples(f).map(Cell::Number),
            Op::OverElements(f, a) => {
                let x = self.factors(a)?;
                x.over_elements(f, settings.norm_method).map(Cell::Number)
            }
            Op::Gram(a) => self.factors(a)?.gram().map(Cell::Number),
            _ => return None,
        };
        let value = value.ok()?;
        self.have_read(id);
        Some(value)
    }

    /// The operands of a node have been read for it.
    pub(super) fn have_read(&mut self, id: NodeId) {
        for x in self.operands(id) {
            if self.host(x).is_none() {
                drop(self.cell(x));
            }
        }
    }

    pub(super) fn evaluate(&mut self, id: NodeId) -> Cell {
        let inputs = self.inputs;
        match inputs.program.node(id).op {
            Op::Params => {
                let value = self.held.params[self.leaf].take();
                Cell::Number(inputs.cast(value.expect("a node is computed once")))
            }
            Op::Normal(at) => {
                let stream = &inputs.program.streams()[at as usize];
                let (leaf, size) = match stream.extent {
                    ExtentKind::Leaf => (self.leaf, inputs.sizes[self.leaf]),
                    ExtentKind::PerLeaf => (self.leaf, 1),
                    _ => (0, 1),
                };
                let count = inputs.stream_counts[at as usize];
                let (dtype, device) = (inputs.dtype, &inputs.device);
                Cell::Number(noise::normals(stream, count, leaf, size, dtype, device))
            }
            Op::Extra(at) => Cell::Number(inputs.cast(inputs.extras[at as usize].clone())),
            Op::State(at) => {
                let shared = inputs.program.slots()[at as usize].extent == ExtentKind::Global;
                let slot = &mut self.held.slots[at as usize];
                let value = slot[if shared { 0 } else { self.leaf }].take();
                Cell::Number(value.expect("a node is computed once"))
            }
            Op::Unary(f, a) => match self.plain(a) {
                Cell::Deferred(x) => Cell::Deferred(x.then(|x| Expression::Unary(f, x))),
                x => Cell::Number(ops::unary(f, x.into_dense())),
            },
            Op::Binary(f, a, b) => self.binary(f, a, b),
            Op::Compare(f, a, b) => {
                let (x, y) = (self.plain(a), self.plain(b));
                let whole = |x: Cell, y: Cell| ops::compare(f, x.into_dense(), y.into_dense());
                masks(x, y, whole, |x, y| Expression::Compare(f, x, y))
            }
            Op::Test(f, a) => match self.plain(a) {
                Cell::Deferred(x) => Cell::DeferredMask(x.then(|x| Expression::Test(f, x))),
                x => Cell::Mask(ops::test(f, x.into_dense())),
            },
            Op::And(a, b) => {
                let (x, y) = (self.predicate(a), self.predicate(b));
                let whole = |x: Cell, y: Cell| {
                    let (x, y) = ops::broadcast(mask(x), mask(y));
                    x.bool_and(y)
                };
                masks(x, y, whole, Expression::And)
            }
            Op::Not(a) => match self.predicate(a) {
                Cell::DeferredMask(x) => Cell::DeferredMask(x.then(Expression::Not)),
                x => Cell::Mask(mask(x).bool_not()),
            },
            Op::Select(c, a, b) => self.select(c, a, b),
            Op::OverExamples(reduction, a) => Cell::Number(match self.plain(a) {
                Cell::Deferred(x) => x.over_examples(reduction, inputs.examples),
                x => {
                    let x = x.into_dense();
                    let columns = x.dims()[1];
                    reduce::over_examples(reduction, ops::expand(x, [inputs.examples, columns]))
                }
            }),
            Op::OverElements(fold, a) => Cell::Number(match self.plain(a) {
                Cell::Deferred(x) => x.over_elements(fold),
                x => {
                    let x = x.into_dense();
                    let rows = x.dims()[0];
                    reduce::over_elements(fold, ops::expand(x, [rows, inputs.sizes[self.leaf]]))
                }
            }),
            Op::Gram(a) => Cell::Number(match self.plain(a) {
                Cell::Deferred(x) => x.gram(),
                x => {
                    let shape = [inputs.examples, inputs.sizes[self.leaf]];
                    reduce::gram(ops::expand(x.into_dense(), shape))
                }
            }),
            Op::OverPairs(fold, a) => {
                let x = self.number(a);
                let shape = [x.dims()[0], inputs.examples];
                Cell::Number(reduce::over_elements(fold, ops::expand(x, shape)))
            }
            Op::Transpose(a) => Cell::Number(self.number(a).transpose()),
            Op::AlongAxes(fold, axes, a) => {
                let x = self.number(a);
                let x = ops::expand(x.clone(), [x.dims()[0], inputs.sizes[self.leaf]]);
                Cell::Number(along::fold(fold, axes, x, &inputs.shapes[self.leaf]))
            }
            Op::Product3(a, b, c) => {
                let factors = [a, b, c].map(|id| self.number(id));
                let rows = factors.iter().map(|x| x.dims()[0]).max().unwrap_or(1);
                let size = inputs.sizes[self.leaf];
                let factors = factors.map(|x| ops::expand(x, [rows, size]));
                Cell::Number(along::product3(factors, &inputs.shapes[self.leaf]))
            }
            Op::PairProduct(a, b) => {
                let shape = [inputs.examples; 2];
                let (x, y) = (self.number(a), self.number(b));
                Cell::Number(reduce::product(
                    ops::expand(x, shape),
                    ops::expand(y, shape),
                ))
            }
            Op::Grads
            | Op::Step
            | Op::BatchSize
            | Op::LeafSize
            | Op::Const(_)
            | Op::Hyper(_)
            | Op::Selected(_)
            | Op::OverLeaves(..) => {
                unreachable!("given, known to the host, or reduced by the stage")
            }
        }
    }

    fn binary(&mut self, f: Binary, a: NodeId, b: NodeId) -> Cell {
        match (self.host(a), self.host(b)) {
            (Some(a), None) => match self.plain(b) {
                Cell::Deferred(x) => Cell::Deferred(x.then(|x| Expression::BinaryLeft(f, a, x))),
                x => Cell::Number(ops::binary_left(f, a, x.into_dense())),
            },
            (None, Some(b)) => match self.plain(a) {
                Cell::Deferred(x) => Cell::Deferred(x.then(|x| Expression::BinaryRight(f, x, b))),
                x => Cell::Number(ops::binary_right(f, x.into_dense(), b)),
            },
            (Some(_), Some(_)) => unreachable!("known to the host"),
            (None, None) => {
                let (x, y) = (self.plain(a), self.plain(b));
                let shared = x.deferred().or(y.deferred()).cloned();
                match shared {
                    Some(shared) => {
                        Cell::Deferred(shared.then(|_| {
                            Expression::Binary(f, x.into_expression(), y.into_expression())
                        }))
                    }
                    None => Cell::Number(ops::binary(f, x.into_dense(), y.into_dense())),
                }
            }
        }
    }

    fn select(&mut self, c: NodeId, a: NodeId, b: NodeId) -> Cell {
        match self.inputs.host.get_predicate(c, self.leaf) {
            Some(true) => return self.any(a),
            Some(false) => return self.any(b),
            None => {}
        }
        let condition = self.predicate(c);
        let (x, y) = (self.plain(a), self.plain(b));
        let parts = [&condition, &x, &y];
        let shared = parts.iter().find_map(|part| part.deferred().cloned());
        match shared {
            Some(shared) => Cell::Deferred(shared.then(|_| {
                let (x, y) = (x.into_expression(), y.into_expression());
                Expression::Select(condition.into_expression(), x, y)
            })),
            None => Cell::Number(ops::select(mask(condition), x.into_dense(), y.into_dense())),
        }
    }
}

/// A predicate in full.
fn mask(cell: Cell) -> Mask {
    match cell {
        Cell::Mask(x) => x,
        _ => unreachable!("programs are type-checked, and deferred predicates stay deferred"),
    }
}

/// A predicate of two values, deferred if one of them is.
fn masks(
    x: Cell,
    y: Cell,
    whole: impl FnOnce(Cell, Cell) -> Mask,
    part: impl FnOnce(Rc<Expression>, Rc<Expression>) -> Expression,
) -> Cell {
    match x.deferred().or(y.deferred()).cloned() {
        Some(shared) => {
            Cell::DeferredMask(shared.then(|_| part(x.into_expression(), y.into_expression())))
        }
        None => Cell::Mask(whole(x, y)),
    }
}
