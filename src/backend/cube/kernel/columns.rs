//! The kernel over columns: a thread holds a vector of columns and runs over the rows.
//!
//! Where there are few columns, several threads of a group share the rows of each ([`Columns::parts`]) and join what they have reduced;
//! where there are very few, several groups do ([`Columns::chunked`]), and a second kernel joins them.

use cubecl::prelude::*;

use super::element::{compute, merge, taken};
use super::order::order_statistic;
use super::plan::{BLOCK, Columns, Place, ROWS};
use crate::kernel::{Code, Reach, Reduce, Reg, Sweep};

/// What a kernel reads.
#[derive(CubeType)]
pub(super) struct Inputs<F: Float, L: Float, N: Size> {
    pub(super) wide: Sequence<OwnedTensor<Vector<F, N>>>,
    pub(super) half: Sequence<OwnedTensor<Vector<L, N>>>,
    pub(super) narrow: Sequence<OwnedTensor<F>>,
    pub(super) scalars: Sequence<InputScalar>,
}

/// A vector of columns of an input.
#[cube]
pub(super) fn load<F: Float, L: Float, N: Size>(
    inputs: &Inputs<F, L, N>,
    row: usize,
    column: usize,
    #[comptime] place: Place,
    #[comptime] reach: Reach,
) -> Vector<F, N> {
    let rows = comptime!(reach.has_rows());
    match place {
        Place::Wide(at) => {
            let x = inputs.wide.index(at);
            let position = if rows {
                row * (x.stride(0) / N::value()) + column
            } else {
                column
            };
            x[position]
        }
        Place::Half(at) => {
            let x = inputs.half.index(at);
            let position = if rows {
                row * (x.stride(0) / N::value()) + column
            } else {
                column
            };
            Vector::cast_from(x[position])
        }
        Place::Narrow(at) => {
            let x = inputs.narrow.index(at);
            let position = if rows { row * x.stride(0) } else { row * 0 };
            Vector::new(x[position])
        }
        Place::Product { left, right } => {
            let left = inputs.narrow.index(left);
            let right = inputs.wide.index(right);
            let tokens = right.shape(1);
            let width = right.shape(2) / N::value();
            let line = column / width;
            let first = if rows { row * tokens } else { row * 0 };
            let mut sum = Vector::<F, N>::new(F::new(0.0));
            for t in 0..tokens {
                let by = left[(first + t) * left.shape(2) + line];
                sum += Vector::new(by) * right[(first + t) * width + column % width];
            }
            sum
        }
    }
}

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

/// Computes an instruction, for a row if it differs from row to row.
#[cube]
pub(super) fn instruction<F: Float, L: Float, N: Size>(
    inputs: &Inputs<F, L, N>,
    regs: &mut Array<Vector<F, N>>,
    row: usize,
    column: usize,
    #[comptime] plan: Columns,
    #[comptime] reg: Reg,
) {
    let it = comptime!(plan.at(reg));
    let value = match comptime!(it.code) {
        Code::Input(at) => {
            let place = comptime!(plan.places[usize::from(at)]);
            load::<F, L, N>(inputs, row, column, place, comptime!(it.reach))
        }
        code => compute::<F, N>(&*regs, &inputs.scalars, code),
    };
    regs[comptime!(reg.index())] = value;
}

/// Runs over the rows that this thread has: reduces them over the examples, and stores what is kept of each.
#[cube]
fn sweep_rows<F: Float, L: Float, N: Size>(
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
