//! Reading: the inputs of a kernel in a thread.

use cubecl::prelude::*;

use super::element::compute;
use super::plan::{Columns, Place};
use crate::kernel::{Code, Reach, Reg};

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
