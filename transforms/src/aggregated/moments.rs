//! Moving averages of values, for the links whose averages need more than [`ema`](crate::ema).

use crate::axis::Aggregated;
use crate::extent::{Global, Leaf};
use crate::tracer::Tracer;
use crate::value::Value;

type Number = Value<Aggregated, Global>;
type Elements = Value<Aggregated, Leaf>;

/// `m <- decay * m + (1 - decay) * x`, kept as state that begins with 0.
pub(crate) fn average(cx: &Tracer, field: &str, decay: &Number, x: &Elements) -> Elements {
    cx.state(field, 0.0, |m| m * decay + x * (1.0 - decay))
}

/// An average that began with 0, divided by `1 - decay^t` at step t.
pub(crate) fn debiased(cx: &Tracer, average: &Elements, decay: &Number) -> Elements {
    average / (1.0 - decay.pow(cx.step() + 1.0))
}

/// The debiased average of gradients, or with `nesterov` one step ahead:
/// `decay * m / (1 - decay^(t + 1)) + (1 - decay) * g / (1 - decay^t)`.
pub(crate) fn direction(
    cx: &Tracer,
    average: &Elements,
    decay: &Number,
    gradient: &Elements,
    nesterov: bool,
) -> Elements {
    if !nesterov {
        return debiased(cx, average, decay);
    }
    let t = cx.step() + 1.0;
    let ahead = average * decay / (1.0 - decay.pow(&t + 1.0));
    ahead + gradient * (1.0 - decay) / (1.0 - decay.pow(t))
}

/// The product over all leaves.
pub(crate) fn dot(a: &Elements, b: &Elements) -> Number {
    (a * b).sum_elements().sum_leaves()
}

/// The parameters of the first step, kept as state.
pub(crate) fn start(cx: &Tracer) -> Elements {
    let params = cx.params();
    let first = cx.step().equal(0.0);
    cx.state("start", 0.0, |start| first.select(params, start))
}

/// A number that begins with a value known at the first step, kept as state.
pub(crate) fn number_from(
    cx: &Tracer,
    field: &str,
    init: &Number,
    update: impl FnOnce(Number) -> Number,
) -> Number {
    let first = cx.step().equal(0.0);
    cx.state(field, 0.0, |before| update(first.select(init, before)))
}
