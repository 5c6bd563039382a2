//! The evaluation of nodes at one leaf, by plain burn operations. [`fused`](super::fused) takes what can wait for a kernel.

use std::rc::Rc;

use pergrad_transforms::ExtentKind;
use pergrad_transforms::program::{Binary, NodeId, Op};

use super::cell::Cell;
use super::deferred::Expression;
use super::factored::Factors;
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

    pub(super) fn evaluate(&mut self, id: NodeId) -> Cell {
        let inputs = self.inputs;
        match inputs.program.node(id).op {
            Op::Params => {
                let value = self.held.params[self.leaf].take();
                Cell::Number(inputs.cast(value.expect("a node is computed once")))
            }
            Op::Extra(at) => Cell::Number(inputs.cast(inputs.extras[at as usize].clone())),
            Op::State(at) => {
                let shared = inputs.program.slots()[at as usize].extent == ExtentKind::Global;
                let slot = &mut self.held.slots[at as usize];
                let value = slot[if shared { 0 } else { self.leaf }].take();
                Cell::Number(value.expect("a node is computed once"))
            }
            Op::Unary(f, a) => self.any(a).unary(f, &inputs.settings),
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
            Op::OverExamples(reduction, a) => Cell::Number(self.any(a).told(
                &inputs.settings,
                |x| x.over_examples(reduction),
                |x| match x {
                    Cell::Deferred(x) => x.over_examples(reduction, inputs.examples),
                    x => {
                        let x = x.into_dense();
                        let columns = x.dims()[1];
                        reduce::over_examples(reduction, ops::expand(x, [inputs.examples, columns]))
                    }
                },
            )),
            Op::OverElements(fold, a) => {
                let size = inputs.sizes[self.leaf];
                Cell::Number(self.any(a).over_elements(fold, size, &inputs.settings))
            }
            Op::Gram(a) => {
                let shape = [inputs.examples, inputs.sizes[self.leaf]];
                Cell::Number(
                    self.any(a)
                        .told(&inputs.settings, Factors::gram, |x| match x {
                            Cell::Deferred(x) => x.gram(),
                            x => reduce::gram(ops::expand(x.into_dense(), shape)),
                        }),
                )
            }
            Op::OverPairs(fold, a) => {
                let x = self.number(a);
                let shape = [x.dims()[0], inputs.examples];
                Cell::Number(reduce::over_elements(fold, ops::expand(x, shape)))
            }
            Op::Transpose(a) => Cell::Number(self.number(a).transpose()),
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

    fn leave(&self, x: Box<Factors>) -> Cell {
        Cell::Factors(x).leave_factors(&self.inputs.settings)
    }

    fn binary(&mut self, f: Binary, a: NodeId, b: NodeId) -> Cell {
        match (self.host(a), self.host(b)) {
            (Some(a), None) => match self.cell(b) {
                Cell::Factors(x) if f == Binary::Mul => self.binary_right(f, Cell::Factors(x), a),
                x => match x.leave_factors(&self.inputs.settings) {
                    Cell::Deferred(x) => {
                        Cell::Deferred(x.then(|x| Expression::BinaryLeft(f, a, x)))
                    }
                    x => Cell::Number(ops::binary_left(f, a, x.into_dense())),
                },
            },
            (None, Some(b)) => {
                let x = self.cell(a);
                self.binary_right(f, x, b)
            }
            (Some(_), Some(_)) => unreachable!("known to the host"),
            (None, None) => {
                let (x, y) = match (self.cell(a), self.cell(b)) {
                    (Cell::Factors(x), Cell::Number(by)) => match x.scale(f, by.clone()) {
                        Ok(x) => return Cell::Factors(x),
                        Err(x) => (self.leave(x), Cell::Number(by)),
                    },
                    (Cell::Number(by), Cell::Factors(x)) if f == Binary::Mul => {
                        match x.scale(f, by.clone()) {
                            Ok(x) => return Cell::Factors(x),
                            Err(x) => (Cell::Number(by), self.leave(x)),
                        }
                    }
                    (x, y) => {
                        let settings = &self.inputs.settings;
                        (x.leave_factors(settings), y.leave_factors(settings))
                    }
                };
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

    fn binary_right(&self, f: Binary, x: Cell, c: f64) -> Cell {
        x.told(
            &self.inputs.settings,
            |x| x.binary_right(f, c).map(Cell::Factors),
            |x| match x {
                Cell::Deferred(x) => Cell::Deferred(x.then(|x| Expression::BinaryRight(f, x, c))),
                x => Cell::Number(ops::binary_right(f, x.into_dense(), c)),
            },
        )
    }

    fn select(&mut self, c: NodeId, a: NodeId, b: NodeId) -> Cell {
        match self.inputs.host.get_predicate(c, self.leaf) {
            Some(true) => return self.any(a),
            Some(false) => return self.any(b),
            None => {}
        }
        let condition = self.predicate(c);
        let (mut x, y) = (self.any(a), self.host(b));
        if let (Some(0.0), Cell::Mask(condition), Cell::Factors(_)) = (y, &condition, &x)
            && condition.dims()[1] == 1
        {
            let Cell::Factors(factors) = x else {
                unreachable!("just seen")
            };
            match factors.keep(condition.clone()) {
                Ok(kept) => return Cell::Factors(kept),
                Err(factors) => x = Cell::Factors(factors),
            }
        }
        let x = x.leave_factors(&self.inputs.settings);
        let y = self.plain(b);
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
