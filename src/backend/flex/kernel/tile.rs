//! One tile: all sweeps of a kernel over some columns, in buffers that stay in cache.

use std::ops::Range;

use pergrad_transforms::program::Binary;
use rayon::prelude::*;

use super::loops::{self, Arg, Elementwise};
use super::product::Product;
use super::sum::Sum;
use super::{Job, Number, ROWS_TO_SPLIT};
use crate::kernel::{Code, Reach, Reduce, Reg, Sweep, Taken};

/// Rows that are added up before they are added to the sum: the error of a long f32 sum is then that of 32 times fewer additions.
const BLOCK: usize = 32;

/// An input as the tiles read it.
pub(super) enum Input<'a, E> {
    /// Rows of this distance.
    Full(&'a [E], usize),
    Row(&'a [E]),
    /// In the place of this output.
    InPlace(usize),
    Column(&'a [E]),
    One(E),
    /// Computed where it is read.
    Product(Product<'a, E>),
}

/// The results of the instructions for the row at hand, and of the reductions.
#[derive(Clone)]
pub(super) struct Buffers<E> {
    /// One number for each column of the tile.
    each: Vec<Vec<E>>,
    /// One number for all of them.
    all: Vec<E>,
}

impl<E: Number> Buffers<E> {
    pub(super) fn new(job: &Job<'_, E>) -> Self {
        let each = job.kernel.code.iter().map(|instruction| {
            let held = matches!(instruction.code, Code::Input(_))
                && job.product(instruction.code).is_none();
            if instruction.reach.has_columns() && !held {
                vec![E::zero(); job.width]
            } else {
                Vec::new()
            }
        });
        Self {
            each: each.collect(),
            all: vec![E::zero(); job.kernel.code.len()],
        }
    }
}

/// What a tile adds to the reductions over elements: for each of them one number, or one for each example.
pub(super) type Partial = Vec<Vec<f64>>;

/// Runs every sweep over the columns and fills the parts of the outputs that lie there.
pub(super) fn run<E: Number>(
    job: &Job<'_, E>,
    buffers: &mut Buffers<E>,
    columns: &Range<usize>,
    outputs: &mut [&mut [E]],
    partial: &mut Partial,
) {
    for sweep in &job.sweeps {
        for &reg in &sweep.once {
            if let Code::OverElements(_, x) = job.kernel.at(reg).code {
                let x = arg(job, buffers, outputs, columns, 0, x);
                let (fold, at) = job.over_elements(reg);
                let folded = loops::fold(job.arch, fold, None, x, columns.len());
                let total = &mut partial[at][0];
                *total = loops::combine(fold, *total, folded);
            } else {
                compute(job, buffers, outputs, columns, 0, reg);
            }
        }
        if sweep.each_row.is_empty() && sweep.over_examples.is_empty() {
            continue;
        }
        if job.splits && job.examples > ROWS_TO_SPLIT {
            split_rows(job, sweep, buffers, columns);
        } else {
            rows(
                job,
                sweep,
                buffers,
                columns,
                outputs,
                partial,
                0..job.examples,
            );
        }
    }
    // At the very end, since results may lie where inputs were read.
    for (output, &reg) in outputs.iter_mut().zip(&job.kernel.outputs) {
        if job.kernel.at(reg).reach == Reach::Row {
            output.copy_from_slice(&buffers.each[reg.index()][..columns.len()]);
        }
    }
}

/// One sweep over some rows.
fn rows<E: Number>(
    job: &Job<'_, E>,
    sweep: &Sweep,
    buffers: &mut Buffers<E>,
    columns: &Range<usize>,
    outputs: &mut [&mut [E]],
    partial: &mut Partial,
    rows: Range<usize>,
) {
    let width = columns.len();
    let mut sums: Vec<Sum<E>> = sweep
        .over_examples
        .iter()
        .map(|&taken| {
            let Code::OverExamples(reduce, _) = job.kernel.at(taken.reg).code else {
                unreachable!("a sweep lists reductions over examples")
            };
            Sum::new(job, taken, reduce, width, rows.len())
        })
        .collect();
    let folds = sweep.over_elements.iter();
    let folds: Vec<_> = folds
        .map(|taken| (taken, job.over_elements(taken.reg)))
        .collect();
    for start in rows.clone().step_by(FOUR) {
        let group = start..(start + FOUR).min(rows.end);
        for row in group.clone() {
            for &reg in &sweep.each_row {
                compute(job, buffers, outputs, columns, row, reg);
            }
            for sum in &mut sums {
                if group.len() < FOUR || !sum.takes_four {
                    let x = arg(job, buffers, outputs, columns, row, sum.taken.of);
                    sum.take(job.arch, x, row - rows.start);
                }
            }
            for &(taken, (fold, at)) in &folds {
                let x = arg(job, buffers, outputs, columns, row, taken.of);
                let folded = loops::fold(job.arch, fold, taken.by, x, width);
                let total = &mut partial[at][row];
                *total = loops::combine(fold, *total, folded);
            }
            for &reg in &sweep.stores {
                if let Arg::Each(x) = arg(job, buffers, outputs, columns, row, reg) {
                    job.store(reg, row, columns, x);
                }
            }
        }
        if group.len() == FOUR {
            for sum in sums.iter_mut().filter(|sum| sum.takes_four) {
                let four = [0, 1, 2, 3].map(|at| {
                    let x = arg(job, buffers, outputs, columns, start + at, sum.taken.of);
                    match x {
                        Arg::Each(x) => x,
                        Arg::All(_) => unreachable!("an input [B, P]"),
                    }
                });
                loops::add_four(job.arch, sum.taken.by, four, &mut sum.block);
            }
        }
        let last = group.end == rows.end;
        if last || (group.end - rows.start).is_multiple_of(BLOCK) {
            sums.iter_mut().for_each(|sum| sum.flush(job.arch));
        }
    }
    for sum in sums {
        let out = &mut buffers.each[sum.taken.reg.index()];
        out[..width].copy_from_slice(&sum.finish(rows.len()));
    }
}

/// Rows that are added up at once where they lie in memory.
const FOUR: usize = 4;

/// One sweep whose rows are shared among threads: for few columns and many rows. Only sums, maxima and minima.
fn split_rows<E: Number>(
    job: &Job<'_, E>,
    sweep: &Sweep,
    buffers: &mut Buffers<E>,
    columns: &Range<usize>,
) {
    let starts: Vec<usize> = (0..job.examples).step_by(ROWS_TO_SPLIT).collect();
    let shared: &Buffers<E> = buffers;
    let parts: Vec<Buffers<E>> = starts
        .into_par_iter()
        .map(|start| {
            let mut own = shared.clone();
            let part = start..(start + ROWS_TO_SPLIT).min(job.examples);
            // Kernels that are split have no outputs in place of inputs, and no sums over elements.
            rows(
                job,
                sweep,
                &mut own,
                columns,
                &mut [],
                &mut Partial::new(),
                part,
            );
            own
        })
        .collect();
    for &Taken { reg, .. } in &sweep.over_examples {
        let Code::OverExamples(reduce, _) = job.kernel.at(reg).code else {
            unreachable!("a sweep lists reductions over examples")
        };
        let width = columns.len();
        let mut sum = parts[0].each[reg.index()].clone();
        for part in &parts[1..] {
            let x = Arg::Each(&part.each[reg.index()][..width]);
            match reduce {
                Reduce::Max => loops::extreme(job.arch, Binary::Max, x, &mut sum[..width]),
                Reduce::Min => loops::extreme(job.arch, Binary::Min, x, &mut sum[..width]),
                _ => loops::add(job.arch, None, x, &mut sum[..width]),
            }
        }
        buffers.each[reg.index()] = sum;
    }
}

/// The value of an operand in the tile at a row.
fn arg<'a, E: Number>(
    job: &Job<'a, E>,
    buffers: &'a Buffers<E>,
    outputs: &'a [&mut [E]],
    columns: &Range<usize>,
    row: usize,
    reg: Reg,
) -> Arg<'a, E> {
    let instruction = job.kernel.at(reg);
    match instruction.code {
        Code::Input(at) => match &job.inputs[usize::from(at)] {
            Input::Full(x, stride) => {
                let start = row * stride;
                Arg::Each(&x[start + columns.start..start + columns.end])
            }
            Input::Row(x) => Arg::Each(&x[columns.clone()]),
            Input::InPlace(at) => Arg::Each(&*outputs[*at]),
            Input::Column(x) => Arg::All(x[row]),
            Input::One(x) => Arg::All(*x),
            Input::Product(_) => Arg::Each(&buffers.each[reg.index()][..columns.len()]),
        },
        Code::Scalar(at) => Arg::All(job.scalars[usize::from(at)]),
        _ if instruction.reach.has_columns() => {
            Arg::Each(&buffers.each[reg.index()][..columns.len()])
        }
        _ => Arg::All(buffers.all[reg.index()]),
    }
}

/// Computes an element-wise instruction into its buffer.
fn compute<E: Number>(
    job: &Job<'_, E>,
    buffers: &mut Buffers<E>,
    outputs: &[&mut [E]],
    columns: &Range<usize>,
    row: usize,
    reg: Reg,
) {
    let instruction = job.kernel.at(reg);
    if let Some(product) = job.product(instruction.code) {
        let out = &mut buffers.each[reg.index()][..columns.len()];
        return product.fill(job.arch, row, columns, out);
    }
    if matches!(instruction.code, Code::Input(_) | Code::Scalar(_)) {
        return;
    }
    let mut own = [E::zero()];
    let mut each = Vec::new();
    let out: &mut [E] = if instruction.reach.has_columns() {
        each = std::mem::take(&mut buffers.each[reg.index()]);
        &mut each[..columns.len()]
    } else {
        &mut own
    };
    let x = |reg| arg(job, buffers, outputs, columns, row, reg);
    let operation = match instruction.code {
        Code::Unary(f, a) => Elementwise::Unary(f, x(a)),
        Code::Binary(f, a, b) => Elementwise::Binary(f, x(a), x(b)),
        Code::Compare(f, a, b) => Elementwise::Compare(f, x(a), x(b)),
        Code::Test(f, a) => Elementwise::Test(f, x(a)),
        Code::And(a, b) => Elementwise::And(x(a), x(b)),
        Code::Not(a) => Elementwise::Not(x(a)),
        Code::Select(c, a, b) => Elementwise::Select(x(c), x(a), x(b)),
        Code::Input(_) | Code::Scalar(_) | Code::OverExamples(..) | Code::OverElements(..) => {
            unreachable!("not element-wise")
        }
    };
    loops::elementwise(job.arch, operation, out);
    if instruction.reach.has_columns() {
        buffers.each[reg.index()] = each;
    } else {
        buffers.all[reg.index()] = own[0];
    }
}
