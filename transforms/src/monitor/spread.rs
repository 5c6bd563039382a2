//! How far the examples are apart, from their norms alone: the trace of the covariance.
//!
//! `sum_p Var(g_p)` is a sum over elements, but it needs no element: with `n_b = ||g_b||`
//!
//! ```text
//! trace = (mean(n^2) - ||mean g||^2) B / (B - ddof)
//!       = Var(n) + (mean(n)^2 - ||mean g||^2) B / (B - ddof)
//! ```
//!
//! The second form is used. `Var(n)` is how much the lengths differ, without cancellation; the rest is what the directions add,
//! and never negative but for rounding. It asks for more than `ddof` examples by itself, so a smaller batch is refused by name.
//!
//! The rounding error is a few units of `mean(n^2)`. Relative to a trace that is much smaller, which is the case of examples that
//! all but agree, that is a lot: 1e-7 of the squared norm in f32. A noise scale does not suffer: where the trace is that small, the
//! scale is near 0, and 1e-7 is its absolute error.

use crate::axis::{Aggregated, PerExample};
use crate::extent::Extent;
use crate::program::Reduction;
use crate::tracer::Tracer;
use crate::value::Value;

/// The trace of the covariance, divided by `B - ddof`, from the norm of each example and the squared norm of their mean.
pub(super) fn trace_by_norms<E: Extent>(
    norm: &Value<PerExample, E>,
    sq_norm_of_mean: &Value<Aggregated, E>,
    ddof: usize,
    cx: &Tracer,
) -> Value<Aggregated, E> {
    let directions = norm.mean().square() - sq_norm_of_mean;
    let directions = match ddof {
        0 => directions,
        _ => directions * unbiased(cx),
    };
    norm.reduce(Reduction::Variance { ddof }) + directions
}

/// `B / (B - 1)`, known to the host.
pub(super) fn unbiased(cx: &Tracer) -> Value<Aggregated, crate::Global> {
    let b = cx.batch_size();
    &b / (&b - 1.0)
}
