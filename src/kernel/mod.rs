//! Kernels: what is computed of one leaf in one pass over its columns.
//!
//! burn computes one operation after the other, so k statistics of `g [B, P]` cost k passes over it and more. A kernel is the
//! straight-line program of all of them: the columns are cut into tiles, and everything that a tile needs is computed while it is in
//! cache.
//!
//! ```text
//! chain((square(), mean(), ema(0.9)))           a kernel, for each tile of columns
//!
//! r0 = in 0          [B,P]  g                   for each example: r0, r1, and r2 adds up
//! r1 = square r0     [B,P]
//! r2 = mean_B r1     [P]                        once: r2 is complete, then
//! r3 = in 1          [P]    the moment          r3, r5, r7
//! r5 = mul r3 s0     [P]
//! r7 = add r5 ..     [P]    out: the new moment, in the place of the old one
//! ```
//!
//! An input is a matrix, or a product: a row `sum_t left[b,t] (x) right[b,t]` that is computed where it is read.
//!
//! A reduction over the examples ends a *sweep* over the rows of a tile; what depends on it waits for the next one. A reduction
//! over elements runs over all tiles, so what depends on it is another kernel. Backends differ in how they run a kernel, not in what it is.

#[cfg(any(feature = "cube", test))]
mod apart;
mod build;
mod sweeps;

pub(crate) use build::Builder;
pub(crate) use sweeps::{Sweep, Taken, sweeps};

use pergrad_transforms::program::{Binary, Comparison, Fold, Test, Unary};

/// The result of an instruction, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reg(pub(crate) u16);

impl Reg {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// How far a value reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reach {
    /// `[B, P]`.
    Full,
    /// `[1, P]`.
    Row,
    /// `[B, 1]`.
    Column,
    /// `[1, 1]`.
    One,
}

impl Reach {
    /// Of a matrix of these sides in a kernel over B rows and P columns.
    pub(crate) fn of([rows, columns]: [usize; 2], [b, p]: [usize; 2]) -> Self {
        Self::new(rows == b && b > 1, columns == p)
    }

    fn new(rows: bool, columns: bool) -> Self {
        match (rows, columns) {
            (true, true) => Self::Full,
            (false, true) => Self::Row,
            (true, false) => Self::Column,
            (false, false) => Self::One,
        }
    }

    /// Whether it differs from example to example.
    pub(crate) fn has_rows(self) -> bool {
        matches!(self, Self::Full | Self::Column)
    }

    /// Whether it differs from column to column.
    pub(crate) fn has_columns(self) -> bool {
        matches!(self, Self::Full | Self::Row)
    }

    /// Of an operation on two values.
    pub(crate) fn join(self, other: Self) -> Self {
        Self::new(
            self.has_rows() || other.has_rows(),
            self.has_columns() || other.has_columns(),
        )
    }
}

/// Reductions over the examples that a sweep can take as it goes, or from all rows of the tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reduce {
    Sum,
    Max,
    Min,
    Median,
    /// The mean without the k smallest and the k largest.
    TrimmedMean(usize),
}

impl Reduce {
    /// Whether all rows must be at hand at once.
    pub(crate) fn sorts(self) -> bool {
        matches!(self, Self::Median | Self::TrimmedMean(_))
    }
}

/// An instruction. Predicates are 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// A tensor, by its position among the inputs.
    Input(u16),
    /// A number of the host, by its position among the scalars.
    Scalar(u16),
    Unary(Unary, Reg),
    Binary(Binary, Reg, Reg),
    Compare(Comparison, Reg, Reg),
    Test(Test, Reg),
    And(Reg, Reg),
    Not(Reg),
    Select(Reg, Reg, Reg),
    OverExamples(Reduce, Reg),
    /// Complete when all tiles are done; only an output.
    OverElements(Fold, Reg),
}

impl Code {
    /// The same with its operands renamed.
    #[cfg(any(feature = "cube", test))]
    fn map_operands(self, rename: impl Fn(Reg) -> Reg) -> Self {
        let r = rename;
        match self {
            Self::Input(_) | Self::Scalar(_) => self,
            Self::Unary(f, x) => Self::Unary(f, r(x)),
            Self::Test(f, x) => Self::Test(f, r(x)),
            Self::Not(x) => Self::Not(r(x)),
            Self::OverExamples(f, x) => Self::OverExamples(f, r(x)),
            Self::OverElements(f, x) => Self::OverElements(f, r(x)),
            Self::Binary(f, x, y) => Self::Binary(f, r(x), r(y)),
            Self::Compare(f, x, y) => Self::Compare(f, r(x), r(y)),
            Self::And(x, y) => Self::And(r(x), r(y)),
            Self::Select(c, x, y) => Self::Select(r(c), r(x), r(y)),
        }
    }

    pub(crate) fn operands(self) -> impl Iterator<Item = Reg> {
        let (a, b, c) = match self {
            Self::Input(_) | Self::Scalar(_) => (None, None, None),
            Self::Unary(_, a)
            | Self::Test(_, a)
            | Self::Not(a)
            | Self::OverExamples(_, a)
            | Self::OverElements(_, a) => (Some(a), None, None),
            Self::Binary(_, a, b) | Self::Compare(_, a, b) | Self::And(a, b) => {
                (Some(a), Some(b), None)
            }
            Self::Select(a, b, c) => (Some(a), Some(b), Some(c)),
        };
        [a, b, c].into_iter().flatten()
    }
}

/// An instruction and how far its result reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instruction {
    pub(crate) code: Code,
    pub(crate) reach: Reach,
}

/// A kernel. The numbers of the host are given at each run, so a schedule changes no kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) code: Vec<Instruction>,
    /// What it gives, each once.
    pub(crate) outputs: Vec<Reg>,
}

impl Kernel {
    pub(crate) fn at(&self, reg: Reg) -> Instruction {
        self.code[reg.index()]
    }

    /// Every result with its instruction, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Reg, Instruction)> {
        let numbered = self.code.iter().enumerate();
        numbered.map(|(at, instruction)| {
            let at = u16::try_from(at).expect("a kernel has fewer than 2^16 instructions");
            (Reg(at), *instruction)
        })
    }

    /// How far the input of this position reaches, if it is read.
    pub(crate) fn input_reach(&self, at: usize) -> Option<Reach> {
        let read =
            |i: &&Instruction| matches!(i.code, Code::Input(input) if usize::from(input) == at);
        self.code.iter().find(read).map(|i| i.reach)
    }
}
