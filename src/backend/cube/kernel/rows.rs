//! A sweep over the rows of a column.

use cubecl::prelude::*;

use super::columns::reduce;
use super::element::{merge, taken};
use super::inputs::{Inputs, instruction};
use super::plan::{BLOCK, Columns, ROWS};
use crate::kernel::{Reduce, Sweep};

/// Runs over the rows that this thread has: reduces them over the examples, and stores what is kept of each.
#[cube]
pub(super) fn sweep_rows<F: Float, L: Float, N: Size>(
    inputs: &Inputs<F, L, N>,
    outputs: &mut Sequence<OwnedTensor<Vector<F, N>>>,
    regs: &mut Array<Vector<F, N>>,
    first: usize,
    end: usize,
    column: usize,
    within: bool,
    #[comptime] plan: Columns,
    #[comptime] sweep: Sweep,
) {
    let step = comptime!(plan.parts);
    let mut blocks = Array::<Vector<F, N>>::new(comptime!(plan.reductions()));
    let mut groups = Array::<Vector<F, N>>::new(comptime!(plan.reductions()));
    // Where the largest or smallest begins: any row will do, and there is one.
    let one = select(first < end, first, end - 1);
    #[unroll]
    for i in 0..comptime!(sweep.each_row.len()) {
        let reg = comptime!(sweep.each_row[i]);
        instruction::<F, L, N>(inputs, regs, one, column, comptime!(plan.clone()), reg);
    }
    #[unroll]
    for i in 0..comptime!(sweep.over_examples.len()) {
        let it = comptime!(sweep.over_examples[i]);
        let start = match comptime!(reduce(&plan, it.reg)) {
            Reduce::Max | Reduce::Min => taken::<F, N>(&*regs, it),
            _ => Vector::new(F::new(0.0)),
        };
        regs[comptime!(it.reg.index())] = start;
    }
    let mut row = first;
    while row < end {
        #[unroll]
        for i in 0..comptime!(sweep.over_examples.len()) {
            groups[i] = Vector::new(F::new(0.0));
        }
        let last = row + comptime!(BLOCK * BLOCK * plan.parts);
        let last = select(last < end, last, end);
        while row < last {
            #[unroll]
            for i in 0..comptime!(sweep.over_examples.len()) {
                blocks[i] = Vector::new(F::new(0.0));
            }
            let limit = row + comptime!(BLOCK * plan.parts);
            let limit = select(limit < last, limit, last);
            // Several rows at once, so that their numbers are on their way together.
            while row + comptime!((ROWS - 1) * plan.parts) < limit {
                #[unroll]
                for r in 0..comptime!(ROWS) {
                    one_row::<F, L, N>(
                        inputs,
                        outputs,
                        regs,
                        &mut blocks,
                        row + r * step,
                        column,
                        within,
                        comptime!(plan.clone()),
                        comptime!(sweep.clone()),
                    );
                }
                row += comptime!(ROWS * plan.parts);
            }
            while row < limit {
                one_row::<F, L, N>(
                    inputs,
                    outputs,
                    regs,
                    &mut blocks,
                    row,
                    column,
                    within,
                    comptime!(plan.clone()),
                    comptime!(sweep.clone()),
                );
                row += step;
            }
            #[unroll]
            for i in 0..comptime!(sweep.over_examples.len()) {
                let group = groups[i];
                groups[i] = group + blocks[i];
            }
        }
        #[unroll]
        for i in 0..comptime!(sweep.over_examples.len()) {
            let it = comptime!(sweep.over_examples[i]);
            if comptime!(reduce(&plan, it.reg) == Reduce::Sum) {
                let total = regs[comptime!(it.reg.index())];
                regs[comptime!(it.reg.index())] = total + groups[i];
            }
        }
    }
}

/// One row of a sweep.
#[cube]
fn one_row<F: Float, L: Float, N: Size>(
    inputs: &Inputs<F, L, N>,
    outputs: &mut Sequence<OwnedTensor<Vector<F, N>>>,
    regs: &mut Array<Vector<F, N>>,
    blocks: &mut Array<Vector<F, N>>,
    row: usize,
    column: usize,
    within: bool,
    #[comptime] plan: Columns,
    #[comptime] sweep: Sweep,
) {
    #[unroll]
    for i in 0..comptime!(sweep.each_row.len()) {
        let reg = comptime!(sweep.each_row[i]);
        instruction::<F, L, N>(inputs, regs, row, column, comptime!(plan.clone()), reg);
    }
    #[unroll]
    for i in 0..comptime!(sweep.over_examples.len()) {
        let it = comptime!(sweep.over_examples[i]);
        match comptime!(reduce(&plan, it.reg)) {
            Reduce::Sum => {
                let block = blocks[i];
                blocks[i] = block + taken::<F, N>(&*regs, it);
            }
            Reduce::Max | Reduce::Min => {
                let best = regs[comptime!(it.reg.index())];
                regs[comptime!(it.reg.index())] = merge::<F, N>(
                    best,
                    taken::<F, N>(&*regs, it),
                    comptime!(reduce(&plan, it.reg)),
                );
            }
            _ => {}
        }
    }
    if within {
        #[unroll]
        for i in 0..comptime!(sweep.stores.len()) {
            let reg = comptime!(sweep.stores[i]);
            let out = outputs.index_mut(comptime!(plan.output(reg)));
            let stride = out.stride(0) / N::value();
            out[row * stride + column] = regs[comptime!(reg.index())];
        }
    }
}
