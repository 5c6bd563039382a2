//! Medians and trimmed means: the values of a column in order, without sorting them.
//!
//! The bits of a float, read as an integer and turned where it is negative, are ordered as the floats are. The k-th smallest is found bit
//! by bit from the top: a bit is 1 if no more than k values are below. Every bit is one more run over the rows, whatever their number,
//! and no value is kept.

use cubecl::prelude::*;

use super::columns::reduce;
use super::element::taken;
use super::inputs::{Inputs, instruction};
use super::plan::Columns;
use crate::kernel::{Reduce, Sweep, Taken};

/// A median or a trimmed mean of a column. NaN if one of its values is.
#[cube]
pub(super) fn order_statistic<F: Float, L: Float, K: Int, N: Size>(
    inputs: &Inputs<F, L, N>,
    regs: &mut Array<Vector<F, N>>,
    examples: usize,
    column: usize,
    #[comptime] plan: Columns,
    #[comptime] sweep: Sweep,
    #[comptime] it: Taken,
) -> Vector<F, N> {
    let trim = comptime!(match reduce(&plan, it.reg) {
        Reduce::TrimmedMean(k) => Some(k),
        _ => None,
    });
    // The positions of the smallest and the largest value that are kept.
    let (first, last) = match comptime!(trim) {
        Some(k) => (k.runtime(), examples - 1 - k),
        None => ((examples - 1) / 2, examples / 2),
    };
    let bits = comptime!(plan.bits);
    let none = Vector::<K, N>::new(K::new(0));
    let one = Vector::<K, N>::new(K::new(1));
    let mut low = none;
    let mut high = none;
    let mut mask = Vector::<K, N>::new(K::new(1) << K::cast_from(bits - 1));
    for _bit in 0..bits {
        let low_or = low | mask;
        let high_or = high | mask;
        let mut below_low = none;
        let mut below_high = none;
        for row in 0..examples {
            let x = value::<F, L, N>(
                inputs,
                regs,
                row,
                column,
                comptime!(plan.clone()),
                comptime!(sweep.clone()),
                it,
            );
            let key = key::<F, K, N>(x, bits);
            below_low += select_many(key.less_than(&low_or), one, none);
            below_high += select_many(key.less_than(&high_or), one, none);
        }
        let first = Vector::<K, N>::new(K::cast_from(first));
        let last = Vector::<K, N>::new(K::cast_from(last));
        low = select_many(below_low.less_equal(&first), low_or, low);
        high = select_many(below_high.less_equal(&last), high_or, high);
        mask = mask >> one;
    }
    let zero = Vector::<F, N>::new(F::new(0.0));
    let mut nan = zero;
    let mut between = zero;
    let mut up_to_low = none;
    let mut below_high = none;
    for row in 0..examples {
        let x = value::<F, L, N>(
            inputs,
            regs,
            row,
            column,
            comptime!(plan.clone()),
            comptime!(sweep.clone()),
            it,
        );
        let key = key::<F, K, N>(x, bits);
        nan = select_many(x.is_nan(), x, nan);
        let inner = select_many(key.less_than(&high), x, zero);
        between += select_many(key.greater_than(&low), inner, zero);
        up_to_low += select_many(key.less_equal(&low), one, none);
        below_high += select_many(key.less_than(&high), one, none);
    }
    let smallest = float::<F, K, N>(low, bits);
    let largest = float::<F, K, N>(high, bits);
    let result = match comptime!(trim) {
        // Of equal values at an end, those that are kept.
        Some(k) => {
            let dropped = Vector::<K, N>::new(K::cast_from(k));
            let kept = Vector::<K, N>::new(K::cast_from(examples - k));
            let lows = Vector::<F, N>::cast_from(up_to_low - dropped);
            let highs = Vector::<F, N>::cast_from(kept - below_high);
            let count = Vector::<F, N>::new(F::cast_from(examples - 2 * k));
            let mean = (between + smallest * lows + largest * highs) / count;
            select_many(low.equal(&high), smallest, mean)
        }
        // Halved first: the sum may overflow.
        None => {
            let half = Vector::<F, N>::new(F::new(0.5));
            let mean = smallest * half + largest * half;
            select_many(low.equal(&high), smallest, mean)
        }
    };
    select_many(nan.is_nan(), nan, result)
}

/// What is looked at, of a row.
#[cube]
fn value<F: Float, L: Float, N: Size>(
    inputs: &Inputs<F, L, N>,
    regs: &mut Array<Vector<F, N>>,
    row: usize,
    column: usize,
    #[comptime] plan: Columns,
    #[comptime] sweep: Sweep,
    #[comptime] it: Taken,
) -> Vector<F, N> {
    #[unroll]
    for i in 0..comptime!(sweep.each_row.len()) {
        let reg = comptime!(sweep.each_row[i]);
        instruction::<F, L, N>(inputs, regs, row, column, comptime!(plan.clone()), reg);
    }
    taken::<F, N>(&*regs, it)
}

/// An integer in the order of the floats.
#[cube]
fn key<F: Float, K: Int, N: Size>(x: Vector<F, N>, #[comptime] bits: u32) -> Vector<K, N> {
    let raw = Vector::<K, N>::reinterpret(x);
    let top = Vector::<K, N>::new(K::new(1) << K::cast_from(bits - 1));
    select_many(raw.less_than(&top), raw | top, !raw)
}

/// The float of such an integer.
#[cube]
fn float<F: Float, K: Int, N: Size>(key: Vector<K, N>, #[comptime] bits: u32) -> Vector<F, N> {
    let top = Vector::<K, N>::new(K::new(1) << K::cast_from(bits - 1));
    let raw = select_many(key.less_than(&top), !key, key ^ top);
    Vector::<F, N>::reinterpret(raw)
}
