//! What a kernel is compiled for.

use crate::kernel::{Instruction, Kernel, Reach, Reg, Sweep, sweeps};

/// Where an input is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Among those of the dtype of the computation, read a vector of columns at a time.
    Wide(usize),
    /// The same, in half precision.
    Half(usize),
    /// Among those of one number for each example, or of one number.
    Narrow(usize),
    /// A product, whose left factor is among those read a number at a time and whose right one is among the wide.
    Product { left: usize, right: usize },
}

/// The compile-time part of a kernel over columns. A kernel of the device is compiled once for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Columns {
    pub(super) kernel: Kernel,
    pub(super) sweeps: Vec<Sweep>,
    /// For each input.
    pub(super) places: Vec<Place>,
    /// Threads that share the rows of a column.
    pub(super) parts: usize,
    /// Columns of a group of threads, in vectors.
    pub(super) lanes: usize,
    /// Whether groups of threads share the rows: each output is then a row for each of them, a part of a reduction over the examples.
    pub(super) chunked: bool,
    /// Bits of a number of the computation.
    pub(super) bits: u32,
}

/// How many rows are under way at once.
pub(super) const ROWS: usize = 4;
/// Numbers that are added up before their sum joins others, of which as many are added up before they join the total: the error of a long
/// sum is that of few additions.
pub(super) const BLOCK: usize = 32;

impl Columns {
    pub(super) fn new(kernel: Kernel, places: Vec<Place>, bits: u32) -> Self {
        Self {
            sweeps: sweeps(&kernel),
            kernel,
            places,
            parts: 1,
            lanes: 1,
            chunked: false,
            bits,
        }
    }

    pub(super) fn at(&self, reg: Reg) -> Instruction {
        self.kernel.at(reg)
    }

    /// How many results there are.
    pub(super) fn len(&self) -> usize {
        self.kernel.code.len()
    }

    /// Whether a sweep runs over the rows.
    pub(super) fn has_rows(&self, sweep: usize) -> bool {
        let sweep = &self.sweeps[sweep];
        !(sweep.over_examples.is_empty() && sweep.stores.is_empty())
    }

    /// The most reductions that a sweep takes.
    pub(super) fn reductions(&self) -> usize {
        let counts = self.sweeps.iter().map(|sweep| sweep.over_examples.len());
        counts.max().unwrap_or(0).max(1)
    }

    /// The position of an output.
    pub(super) fn output(&self, reg: Reg) -> usize {
        let at = self.kernel.outputs.iter().position(|known| *known == reg);
        at.expect("it is stored since it is an output")
    }

    /// The outputs `[1, P]`.
    pub(super) fn rows(&self) -> Vec<Reg> {
        let rows = self.kernel.outputs.iter().copied();
        rows.filter(|reg| self.at(*reg).reach == Reach::Row)
            .collect()
    }
}
