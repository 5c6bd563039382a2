//! One tile: all sweeps of a kernel over some columns, in buffers that stay in cache.

use std::ops::Range;

use pergrad_transforms::program::{Binary, Fold};
use rayon::prelude::*;

use super::loops::{self, Arg};
use super::{Job, Number, ROWS_TO_SPLIT};
use crate::kernel::{Code, Reach, Reduce, Reg, Sweep};

/// Rows that are added up before they are added to the sum: the error of a long f32 sum then grows with the logarithm of its length.
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
        let each = job.kernel.code.iter().map(|instruction| match instruction {
            instruction if matches!(instruction.code, Code::Input(_)) => Vec::new(),
            instruction if instruction.reach.has_columns() => vec![E::zero(); job.width],
            _ => Vec::new(),
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
#[inline(always)]
pub(super) fn run<E: Number>(
    job: &Job<'_, E>,
    buffers: &mut Buffers<E>,
    columns: &Range<usize>,
    outputs: &mut [&mut [E]],
    partial: &mut Partial,
) {
    for sweep in &job.sweeps {
        for &reg in &sweep.once {
            if let Code::OverElements(fold, x) = job.kernel.at(reg).code {
                let x = arg(job, buffers, outputs, columns, 0, x);
                let at = job.over_elements(reg);
                combine(
                    fold,
                    &mut partial[at][0],
                    loops::fold(fold, x, columns.len()),
                );
            } else {
                compute(job, buffers, outputs, columns, 0, reg);
            }
        }
        if sweep.each_row.is_empty() && sweep.over_examples.is_empty() {
            continue;
        }
        if job.splits && job.examples > ROWS_TO_SPLIT {
            split_rows(job, sweep, buffers, columns, partial);
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
#[inline(always)]
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
    let mut blocks: Vec<Vec<E>> = Vec::new();
    let mut columns_of_rows: Vec<Vec<E>> = Vec::new();
    for &reg in &sweep.over_examples {
        let Code::OverExamples(reduce, _) = job.kernel.at(reg).code else {
            unreachable!("a sweep lists reductions over examples")
        };
        buffers.each[reg.index()][..width].fill(E::zero());
        blocks.push(vec![
            E::zero();
            if reduce == Reduce::Sum { width } else { 0 }
        ]);
        let kept = if reduce.sorts() {
            width * rows.len()
        } else {
            0
        };
        columns_of_rows.push(vec![E::zero(); kept]);
    }
    for (count, row) in rows.clone().enumerate() {
        for &reg in &sweep.each_row {
            compute(job, buffers, outputs, columns, row, reg);
        }
        for (at, &reg) in sweep.over_examples.iter().enumerate() {
            let Code::OverExamples(reduce, x) = job.kernel.at(reg).code else {
                unreachable!("a sweep lists reductions over examples")
            };
            let mut sum = std::mem::take(&mut buffers.each[reg.index()]);
            let x = arg(job, buffers, outputs, columns, row, x);
            match reduce {
                Reduce::Sum => {
                    loops::add(x, &mut blocks[at]);
                    if count % BLOCK == BLOCK - 1 || count + 1 == rows.len() {
                        loops::add(Arg::Each(&blocks[at]), &mut sum[..width]);
                        blocks[at].fill(E::zero());
                    }
                }
                Reduce::Max | Reduce::Min if count == 0 => {
                    loops::add(x, &mut sum[..width]);
                }
                Reduce::Max => loops::extreme(Binary::Max, x, &mut sum[..width]),
                Reduce::Min => loops::extreme(Binary::Min, x, &mut sum[..width]),
                Reduce::Median | Reduce::TrimmedMean(_) => {
                    let kept = columns_of_rows[at].chunks_exact_mut(rows.len());
                    for (column, kept) in kept.enumerate() {
                        kept[count] = match x {
                            Arg::Each(x) => x[column],
                            Arg::All(x) => x,
                        };
                    }
                }
            }
            buffers.each[reg.index()] = sum;
        }
        for &reg in &sweep.over_elements {
            let Code::OverElements(fold, x) = job.kernel.at(reg).code else {
                unreachable!("a sweep lists reductions over elements")
            };
            let x = arg(job, buffers, outputs, columns, row, x);
            let at = job.over_elements(reg);
            combine(fold, &mut partial[at][row], loops::fold(fold, x, width));
        }
        for &reg in &sweep.stores {
            if let Arg::Each(x) = arg(job, buffers, outputs, columns, row, reg) {
                job.store(reg, row, columns, x);
            }
        }
    }
    for (at, &reg) in sweep.over_examples.iter().enumerate() {
        let Code::OverExamples(reduce, _) = job.kernel.at(reg).code else {
            unreachable!("a sweep lists reductions over examples")
        };
        if reduce.sorts() {
            let kept = columns_of_rows[at].chunks_exact_mut(rows.len());
            for (out, kept) in buffers.each[reg.index()].iter_mut().zip(kept) {
                *out = sorted(reduce, kept);
            }
        }
    }
}

/// One sweep whose rows are shared among threads: for few columns and many rows. Only sums, maxima and minima.
fn split_rows<E: Number>(
    job: &Job<'_, E>,
    sweep: &Sweep,
    buffers: &mut Buffers<E>,
    columns: &Range<usize>,
    partial: &mut Partial,
) {
    let starts: Vec<usize> = (0..job.examples).step_by(ROWS_TO_SPLIT).collect();
    let shared: &Buffers<E> = buffers;
    let none = vec![Vec::new(); partial.len()];
    let parts: Vec<(Buffers<E>, Partial)> = starts
        .into_par_iter()
        .map(|start| {
            let mut own = shared.clone();
            let part = start..(start + ROWS_TO_SPLIT).min(job.examples);
            // Kernels that are split have no outputs in place of inputs, and no sums over elements.
            let (mut outputs, mut partial): (Vec<&mut [E]>, _) = (Vec::new(), none.clone());
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || {
                    rows(
                        job,
                        sweep,
                        &mut own,
                        columns,
                        &mut outputs,
                        &mut partial,
                        part,
                    )
                },
            );
            (own, partial)
        })
        .collect();
    for &reg in &sweep.over_examples {
        let Code::OverExamples(reduce, _) = job.kernel.at(reg).code else {
            unreachable!("a sweep lists reductions over examples")
        };
        let width = columns.len();
        let mut sum = parts[0].0.each[reg.index()].clone();
        for (part, _) in &parts[1..] {
            let x = Arg::Each(&part.each[reg.index()][..width]);
            match reduce {
                Reduce::Max => loops::extreme(Binary::Max, x, &mut sum[..width]),
                Reduce::Min => loops::extreme(Binary::Min, x, &mut sum[..width]),
                _ => loops::add(x, &mut sum[..width]),
            }
        }
        buffers.each[reg.index()] = sum;
    }
}

fn combine<E: Number>(fold: Fold, total: &mut f64, x: E) {
    let x = num_traits::ToPrimitive::to_f64(&x).expect("floats convert");
    *total = match fold {
        Fold::Sum => *total + x,
        Fold::Max => Binary::Max.apply(*total, x),
    };
}

/// The value of an operand in the tile at a row.
#[inline(always)]
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
        },
        Code::Scalar(at) => Arg::All(job.scalars[usize::from(at)]),
        _ if instruction.reach.has_columns() => {
            Arg::Each(&buffers.each[reg.index()][..columns.len()])
        }
        _ => Arg::All(buffers.all[reg.index()]),
    }
}

/// Computes an element-wise instruction into its buffer.
#[inline(always)]
fn compute<E: Number>(
    job: &Job<'_, E>,
    buffers: &mut Buffers<E>,
    outputs: &[&mut [E]],
    columns: &Range<usize>,
    row: usize,
    reg: Reg,
) {
    let instruction = job.kernel.at(reg);
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
    match instruction.code {
        Code::Unary(f, a) => loops::unary(f, x(a), out),
        Code::Binary(f, a, b) => loops::binary(f, x(a), x(b), out),
        Code::Compare(f, a, b) => loops::compare(f, x(a), x(b), out),
        Code::Test(f, a) => loops::test(f, x(a), out),
        Code::And(a, b) => loops::and(x(a), x(b), out),
        Code::Not(a) => loops::not(x(a), out),
        Code::Select(c, a, b) => loops::select(x(c), x(a), x(b), out),
        Code::Input(_) | Code::Scalar(_) | Code::OverExamples(..) | Code::OverElements(..) => {
            unreachable!("not element-wise")
        }
    }
    if instruction.reach.has_columns() {
        buffers.each[reg.index()] = each;
    } else {
        buffers.all[reg.index()] = own[0];
    }
}

/// A reduction that looks at all values of a column in order. NaN if one is.
#[allow(clippy::cast_precision_loss)] // batches are below 2^53
fn sorted<E: Number>(reduce: Reduce, values: &mut [E]) -> E {
    if values.iter().any(|x| x.is_nan()) {
        return E::nan();
    }
    let order = |x: &E, y: &E| x.partial_cmp(y).expect("no NaN");
    let count = |n: usize| <E as num_traits::NumCast>::from(n).expect("floats hold counts");
    match reduce {
        Reduce::Median => {
            let half = values.len() / 2;
            let odd = values.len() % 2 == 1;
            let (below, &mut middle, _) = values.select_nth_unstable_by(half, order);
            if odd {
                middle
            } else {
                // Halved first: the sum may overflow.
                let before = below.iter().copied().fold(E::neg_infinity(), E::max);
                before / count(2) + middle / count(2)
            }
        }
        Reduce::TrimmedMean(k) => {
            values.sort_unstable_by(order);
            let kept = &values[k..values.len() - k];
            let sum = kept.iter().fold(E::zero(), |sum, &x| sum + x);
            sum / count(kept.len())
        }
        Reduce::Sum | Reduce::Max | Reduce::Min => unreachable!("they need no order"),
    }
}
