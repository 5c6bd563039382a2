//! Accelerated projected gradient steps over numbers of the examples: the solver of the links that ask for a nearest direction.
//!
//! Such a link looks for a direction near another one, under conditions on its products with the examples. The dual of that problem
//! has one number for each example (or pair), a quadratic form with the Gram matrix `K`, and a box for a domain, whatever the number
//! of parameters. A step goes down the slope by `1 / L` and back into the box.

use crate::axis::{Aggregated, PerExample};
use crate::extent::{Extent, Global, Pairs};
use crate::value::Value;

/// A bound `L` on the eigenvalues of a Gram matrix: none is beyond the largest row sum. 0 where all examples are zeros, NaN where one
/// of them is.
pub(crate) fn steepest(gram: &Value<PerExample, Pairs>) -> Value<Aggregated, Global> {
    gram.abs().sum_pairs().across().max_pairs()
}

/// What is there after some `iterations`, of which `first` is the first and `step` makes each other one, from a point ahead of the
/// last (Beck and Teboulle, 2009).
pub(crate) fn accelerated<E: Extent>(
    iterations: usize,
    first: Value<PerExample, E>,
    step: impl Fn(Value<PerExample, E>) -> Value<PerExample, E>,
) -> Value<PerExample, E> {
    let mut at = first;
    let mut ahead = at.clone();
    let mut t = 1.0_f64;
    for _ in 1..iterations {
        let next = step(ahead);
        let next_t = f64::midpoint(1.0, (1.0 + 4.0 * t * t).sqrt());
        ahead = &next + (&next - at) * ((t - 1.0) / next_t);
        (at, t) = (next, next_t);
    }
    at
}
