//! Per-example values that are too large to be made in full: an expression, computed some columns at a time where it is reduced.
//!
//! ```text
//! %1 = tanh g      g in factors, [B, P] beyond the memory budget: deferred
//! %2 = mean_B %1   for each tile of columns: g of the tile in full, its tanh, its mean; then the tiles side by side
//! ```
//!
//! A tile has all examples, so every reduction over the examples is exact in it, a median too; sums over elements add up over the tiles.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use burn::tensor::Tensor;
use burn::tensor::kind::Basic;
use pergrad_transforms::program::{Binary, Comparison, Fold, Reduction, Test, Unary};

use super::factored::Factors;
use super::ops::{self, Mask, Matrix};
use super::reduce;
use super::settings::Settings;

/// A deferred value, and the tiles it is computed in.
#[derive(Clone)]
pub(super) struct Deferred {
    expression: Rc<Expression>,
    tiles: Tiles,
}

/// How the columns are cut.
#[derive(Clone, Copy, Debug)]
struct Tiles {
    columns: usize,
    /// Columns of a tile; the last one may have fewer.
    width: usize,
}

impl Tiles {
    fn iter(self) -> impl Iterator<Item = Range<usize>> {
        let starts = (0..self.columns).step_by(self.width);
        starts.map(move |start| start..(start + self.width).min(self.columns))
    }
}

/// What is computed of each tile.
pub(super) enum Expression {
    Factors(Box<Factors>),
    /// Of B rows or one, of P columns or one.
    Number(Matrix),
    Mask(Mask),
    Unary(Unary, Rc<Expression>),
    Binary(Binary, Rc<Expression>, Rc<Expression>),
    BinaryLeft(Binary, f64, Rc<Expression>),
    BinaryRight(Binary, Rc<Expression>, f64),
    Compare(Comparison, Rc<Expression>, Rc<Expression>),
    Test(Test, Rc<Expression>),
    And(Rc<Expression>, Rc<Expression>),
    Not(Rc<Expression>),
    Select(Rc<Expression>, Rc<Expression>, Rc<Expression>),
}

#[derive(Clone)]
enum Tile {
    Number(Matrix),
    Mask(Mask),
}

impl Deferred {
    /// A value in factors, cut so that a tile in full fits the memory budget.
    pub(super) fn new(factors: Box<Factors>, settings: &Settings) -> Self {
        let [examples, columns] = factors.dims();
        let row = factors.row_size();
        let bytes = (examples * row * factors.dtype().size()).max(1);
        let rows = (settings.memory_budget / bytes).max(1);
        Self {
            tiles: Tiles {
                columns,
                width: rows * row,
            },
            expression: Rc::new(Expression::Factors(factors)),
        }
    }

    /// A value made of this one (and of others with tiles of its own, which do not matter: all are cut alike).
    pub(super) fn then(&self, f: impl FnOnce(Rc<Expression>) -> Expression) -> Self {
        Self {
            expression: Rc::new(f(self.expression.clone())),
            tiles: self.tiles,
        }
    }

    /// The expression, as a part of another one.
    pub(super) fn expression(&self) -> Rc<Expression> {
        self.expression.clone()
    }

    fn each_tile(&self) -> impl Iterator<Item = Matrix> {
        self.tiles.iter().map(|tile| {
            let mut window = Window {
                columns: self.tiles.columns,
                seen: HashMap::new(),
                tile,
            };
            let x = window.number(&self.expression);
            let [rows, _] = x.dims();
            ops::expand(x, [rows, window.tile.len()])
        })
    }

    /// `[B, P] -> [1, P]`.
    pub(super) fn over_examples(&self, reduction: Reduction, examples: usize) -> Matrix {
        let tiles = self.each_tile().map(|x| {
            let columns = x.dims()[1];
            reduce::over_examples(reduction, ops::expand(x, [examples, columns]))
        });
        Tensor::cat(tiles.collect(), 1)
    }

    /// `[B, P] -> [B, 1]`.
    pub(super) fn over_elements(&self, fold: Fold) -> Matrix {
        let tiles = self.each_tile().map(|x| reduce::over_elements(fold, x));
        let sum = tiles.reduce(|x, y| reduce::combine(fold, x, y));
        sum.expect("a deferred value has columns")
    }

    /// `[B, P] -> [B, B]`.
    pub(super) fn gram(&self) -> Matrix {
        let sum = self.each_tile().map(reduce::gram).reduce(|x, y| x + y);
        sum.expect("a deferred value has columns")
    }

    /// `[B, P]`, whatever it takes.
    pub(super) fn into_dense(self) -> Matrix {
        Tensor::cat(self.each_tile().collect(), 1)
    }
}

/// The tile at hand. A part of an expression that is used twice is computed once.
struct Window {
    tile: Range<usize>,
    /// Of the whole.
    columns: usize,
    seen: HashMap<*const Expression, Tile>,
}

impl Window {
    fn number(&mut self, expression: &Rc<Expression>) -> Matrix {
        match self.evaluate(expression) {
            Tile::Number(x) => x,
            Tile::Mask(_) => unreachable!("programs are type-checked"),
        }
    }

    fn mask(&mut self, expression: &Rc<Expression>) -> Mask {
        match self.evaluate(expression) {
            Tile::Mask(x) => x,
            Tile::Number(_) => unreachable!("programs are type-checked"),
        }
    }

    /// The columns of the tile, of a value that has one for each.
    fn part<K: Basic>(&self, whole: &Tensor<2, K>) -> Tensor<2, K> {
        let whole = whole.clone();
        if whole.dims()[1] == self.columns {
            whole.narrow(1, self.tile.start, self.tile.len())
        } else {
            whole
        }
    }

    fn evaluate(&mut self, expression: &Rc<Expression>) -> Tile {
        let key = Rc::as_ptr(expression);
        if let Some(value) = self.seen.get(&key) {
            return value.clone();
        }
        let value = match &**expression {
            Expression::Factors(factors) => Tile::Number(factors.tile(&self.tile).into_dense()),
            Expression::Number(whole) => Tile::Number(self.part(whole)),
            Expression::Mask(whole) => Tile::Mask(self.part(whole)),
            Expression::Unary(f, a) => Tile::Number(ops::unary(*f, self.number(a))),
            Expression::Binary(f, a, b) => {
                Tile::Number(ops::binary(*f, self.number(a), self.number(b)))
            }
            Expression::BinaryLeft(f, a, b) => {
                Tile::Number(ops::binary_left(*f, *a, self.number(b)))
            }
            Expression::BinaryRight(f, a, b) => {
                Tile::Number(ops::binary_right(*f, self.number(a), *b))
            }
            Expression::Compare(f, a, b) => {
                Tile::Mask(ops::compare(*f, self.number(a), self.number(b)))
            }
            Expression::Test(f, a) => Tile::Mask(ops::test(*f, self.number(a))),
            Expression::And(a, b) => {
                let (a, b) = ops::broadcast(self.mask(a), self.mask(b));
                Tile::Mask(a.bool_and(b))
            }
            Expression::Not(a) => Tile::Mask(self.mask(a).bool_not()),
            Expression::Select(c, a, b) => {
                let (c, a, b) = (self.mask(c), self.number(a), self.number(b));
                Tile::Number(ops::select(c, a, b))
            }
        };
        self.seen.insert(key, value.clone());
        value
    }
}

/// What a value in full would need, for deciding whether to defer it.
pub(super) fn is_small(factors: &Factors, settings: &Settings) -> bool {
    let [examples, columns] = factors.dims();
    settings.allows(examples, columns, factors.dtype().size())
}
