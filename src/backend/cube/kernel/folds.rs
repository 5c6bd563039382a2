//! The kernel over rows: a group of threads adds up a stretch of one row.

use cubecl::prelude::*;
use pergrad_transforms::program::Fold;

use super::element::merge;
use super::inputs::{Inputs, instruction};
use super::plan::{BLOCK, Columns};
use crate::kernel::{Code, Reduce, Reg};

/// Reductions over elements. Each output is `[rows, stretches]`: a number for each group of threads.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn over_rows<F: Float, L: Float, N: Size>(
    wide: Sequence<OwnedTensor<Vector<F, N>>>,
    half: Sequence<OwnedTensor<Vector<L, N>>>,
    narrow: Sequence<OwnedTensor<F>>,
    scalars: Sequence<InputScalar>,
    outputs: &mut Sequence<OwnedTensor<F>>,
    rows: usize,
    width: usize,
    stretch: usize,
    #[comptime] plan: Columns,
    #[define(F, L)] _types: [ElemType; 2],
) {
    let inputs = Inputs::<F, L, N> {
        wide,
        half,
        narrow,
        scalars,
    };
    let thread = UNIT_POS_X as usize;
    let threads = comptime!(plan.lanes);
    let group = CUBE_POS_X as usize + (CUBE_POS_Y as usize) * (CUBE_COUNT_X as usize);
    let stretches = width.div_ceil(stretch);
    let row = group / stretches;
    let at = group % stretches;
    if row >= rows {
        terminate!();
    }
    let first = at * stretch;
    let end = select(first + stretch < width, first + stretch, width);

    let count = comptime!(plan.kernel.outputs.len());
    let mut regs = Array::<Vector<F, N>>::new(comptime!(plan.len()));
    let mut totals = Array::<Vector<F, N>>::new(count);
    let mut blocks = Array::<Vector<F, N>>::new(count);
    #[unroll]
    for i in 0..count {
        totals[i] = Vector::new(F::new(0.0));
    }
    let mut column = first + thread;
    while column < end {
        #[unroll]
        for i in 0..count {
            blocks[i] = Vector::new(F::new(0.0));
        }
        let limit = column + comptime!(BLOCK * plan.lanes);
        let limit = select(limit < end, limit, end);
        while column < limit {
            #[unroll]
            for i in 0..comptime!(plan.len()) {
                let reg = comptime!(Reg(u16::try_from(i).expect("few instructions")));
                if comptime!(!matches!(plan.at(reg).code, Code::OverElements(..))) {
                    instruction::<F, L, N>(
                        &inputs,
                        &mut regs,
                        row,
                        column,
                        comptime!(plan.clone()),
                        reg,
                    );
                }
            }
            #[unroll]
            for i in 0..count {
                let (of, reduce) = comptime!(fold(&plan, i));
                let block = blocks[i];
                blocks[i] = merge::<F, N>(block, regs[comptime!(of.index())], reduce);
            }
            column += threads;
        }
        #[unroll]
        for i in 0..count {
            let total = totals[i];
            totals[i] = merge::<F, N>(total, blocks[i], comptime!(fold(&plan, i).1));
        }
    }

    let mut shared = Shared::<[F]>::new_slice(threads);
    #[unroll]
    for i in 0..count {
        let reduce = comptime!(fold(&plan, i).1);
        let mut total = totals[i].extract(0usize);
        #[unroll]
        for lane in 1..N::value() {
            total = one::<F>(total, totals[i].extract(lane), reduce);
        }
        if comptime!(threads > 1) {
            sync_cube();
            shared[thread] = total;
            sync_cube();
            let mut half = comptime!(threads / 2).runtime();
            while half > 0 {
                if thread < half {
                    let mine = shared[thread];
                    shared[thread] = one::<F>(mine, shared[thread + half], reduce);
                }
                sync_cube();
                half /= 2;
            }
            total = shared[0];
        }
        if thread == 0 {
            let out = outputs.index_mut(i);
            out[row * stretches + at] = total;
        }
    }
}

/// Two parts, of one number each.
#[cube]
fn one<F: Float>(x: F, y: F, #[comptime] reduce: Reduce) -> F {
    merge::<F, Const<1>>(Vector::new(x), Vector::new(y), reduce).extract(0usize)
}

/// What an output adds up, and how.
fn fold(plan: &Columns, output: usize) -> (Reg, Reduce) {
    match plan.at(plan.kernel.outputs[output]).code {
        Code::OverElements(Fold::Sum, x) => (x, Reduce::Sum),
        Code::OverElements(Fold::Max, x) => (x, Reduce::Max),
        _ => unreachable!("the outputs are reductions over elements"),
    }
}
