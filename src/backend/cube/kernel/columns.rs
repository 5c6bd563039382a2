//! The kernel over columns: a thread holds a vector of columns and runs over the rows.
//!
//! Where there are few columns, several threads of a group share the rows of each ([`Columns::parts`]) and join what they have reduced;
//! where there are very few, several groups do ([`Columns::chunked`]), and a second kernel joins them.

use cubecl::prelude::*;

use super::element::merge;
use super::inputs::{Inputs, instruction};
use super::order::order_statistic;
use super::plan::Columns;
use super::rows::sweep_rows;
use crate::kernel::{Code, Reduce, Reg, Sweep};

/// All that is read, and where.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn over_columns<F: Float, L: Float, K: Int, N: Size>(
    wide: Sequence<OwnedTensor<Vector<F, N>>>,
    half: Sequence<OwnedTensor<Vector<L, N>>>,
    narrow: Sequence<OwnedTensor<F>>,
    scalars: Sequence<InputScalar>,
    outputs: &mut Sequence<OwnedTensor<Vector<F, N>>>,
    examples: usize,
    width: usize,
    chunk: usize,
    #[comptime] plan: Columns,
    #[define(F, L, K)] _types: [ElemType; 3],
) {
    let inputs = Inputs::<F, L, N> {
        wide,
        half,
        narrow,
        scalars,
    };
    let lane = UNIT_POS_X as usize;
    let part = UNIT_POS_Y as usize;
    let group = CUBE_POS_X as usize + (CUBE_POS_Y as usize) * (CUBE_COUNT_X as usize);
    let at = group * comptime!(plan.lanes) + lane;
    let within = at < width;
    // Threads beyond the last column do as the last one does, but store nothing: those of a group wait for each other.
    let column = select(within, at, width - 1);
    let first = if comptime!(plan.chunked) {
        CUBE_POS_Z as usize * chunk
    } else {
        0usize.runtime()
    };
    let end = if comptime!(plan.chunked) {
        first + chunk
    } else {
        examples
    };
    let end = select(end < examples, end, examples);

    let mut regs = Array::<Vector<F, N>>::new(comptime!(plan.len()));
    let mut shared = Shared::<[Vector<F, N>]>::new_slice(comptime!(if plan.parts > 1 {
        plan.reductions() * plan.parts * plan.lanes
    } else {
        1
    }));

    #[unroll]
    for s in 0..comptime!(plan.sweeps.len()) {
        let sweep = comptime!(plan.sweeps[s].clone());
        let rows = comptime!(plan.has_rows(s));
        // Where nothing is left to do for each row, one thread of those that share a column does it.
        if comptime!(rows || plan.parts == 1) || part == 0 {
            #[unroll]
            for i in 0..comptime!(sweep.once.len()) {
                let reg = comptime!(sweep.once[i]);
                instruction::<F, L, N>(
                    &inputs,
                    &mut regs,
                    0usize.runtime(),
                    column,
                    comptime!(plan.clone()),
                    reg,
                );
            }
        }
        if comptime!(rows) {
            sweep_rows::<F, L, N>(
                &inputs,
                outputs,
                &mut regs,
                first + part,
                end,
                column,
                within,
                comptime!(plan.clone()),
                comptime!(sweep.clone()),
            );
            if comptime!(plan.parts > 1) {
                join::<F, N>(
                    &mut regs,
                    &mut shared,
                    lane,
                    part,
                    comptime!(plan.clone()),
                    comptime!(sweep.clone()),
                );
            }
            order::<F, L, K, N>(
                &inputs,
                &mut regs,
                examples,
                column,
                comptime!(plan.clone()),
                comptime!(sweep.clone()),
            );
        }
    }
    // Outputs may stand in the place of inputs that the other threads of a column have read.
    if comptime!(plan.parts > 1) {
        sync_cube();
    }
    if within && part == 0 {
        let row = if comptime!(plan.chunked) {
            CUBE_POS_Z as usize
        } else {
            0usize.runtime()
        };
        #[unroll]
        for i in 0..comptime!(plan.rows().len()) {
            let reg = comptime!(plan.rows()[i]);
            let out = outputs.index_mut(comptime!(plan.output(reg)));
            out[row * width + column] = regs[comptime!(reg.index())];
        }
    }
}

/// Joins what the threads of a column have reduced: each of them has the whole afterwards, joined in one order.
#[cube]
fn join<F: Float, N: Size>(
    regs: &mut Array<Vector<F, N>>,
    shared: &mut Shared<[Vector<F, N>]>,
    lane: usize,
    part: usize,
    #[comptime] plan: Columns,
    #[comptime] sweep: Sweep,
) {
    let (lanes, parts) = comptime!((plan.lanes, plan.parts));
    // Nobody reads the last sweep's any more.
    sync_cube();
    #[unroll]
    for i in 0..comptime!(sweep.over_examples.len()) {
        let it = comptime!(sweep.over_examples[i]);
        shared[(i * parts + part) * lanes + lane] = regs[comptime!(it.reg.index())];
    }
    sync_cube();
    #[unroll]
    for i in 0..comptime!(sweep.over_examples.len()) {
        let it = comptime!(sweep.over_examples[i]);
        let mut total = shared[i * parts * lanes + lane];
        for other in 1..parts {
            let more = shared[(i * parts + other) * lanes + lane];
            total = merge::<F, N>(total, more, comptime!(reduce(&plan, it.reg)));
        }
        regs[comptime!(it.reg.index())] = total;
    }
}

/// The reductions of a sweep that look at the values of a column in order.
#[cube]
fn order<F: Float, L: Float, K: Int, N: Size>(
    inputs: &Inputs<F, L, N>,
    regs: &mut Array<Vector<F, N>>,
    examples: usize,
    column: usize,
    #[comptime] plan: Columns,
    #[comptime] sweep: Sweep,
) {
    #[unroll]
    for i in 0..comptime!(sweep.over_examples.len()) {
        let it = comptime!(sweep.over_examples[i]);
        if comptime!(reduce(&plan, it.reg).sorts()) {
            let result = order_statistic::<F, L, K, N>(
                inputs,
                regs,
                examples,
                column,
                comptime!(plan.clone()),
                comptime!(sweep.clone()),
                it,
            );
            regs[comptime!(it.reg.index())] = result;
        }
    }
}

/// What a reduction over the examples is.
pub(super) fn reduce(plan: &Columns, reg: Reg) -> Reduce {
    match plan.at(reg).code {
        Code::OverExamples(reduce, _) => reduce,
        _ => unreachable!("a sweep lists reductions"),
    }
}
