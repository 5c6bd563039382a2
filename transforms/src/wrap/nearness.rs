//! In which metric one update is near another.

use crate::axis::{Aggregated, CanReduce};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// How the distance of two updates is measured: [`Euclidean`], or [`Preconditioned`] by a statistic of the gradients.
pub trait Nearness<In: CanReduce> {
    /// The diagonal `P` of the metric `|u|^2 = sum u^2 / P`, `[..p]`; nothing where it is 1 everywhere.
    fn diagonal(&self, x: &Value<In>, cx: &mut Tracer) -> Option<Value<Aggregated>>;
}

/// All parameters count alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Euclidean;

impl<In: CanReduce> Nearness<In> for Euclidean {
    fn diagonal(&self, _x: &Value<In>, _cx: &mut Tracer) -> Option<Value<Aggregated>> {
        None
    }
}

/// A parameter is cheaper to move where a statistic of the gradients is larger.
#[derive(Clone, Debug)]
pub struct Preconditioned<T>(pub(super) T);

impl<In: CanReduce, T: Transform<In, Out = Aggregated>> Nearness<In> for Preconditioned<T> {
    fn diagonal(&self, x: &Value<In>, cx: &mut Tracer) -> Option<Value<Aggregated>> {
        Some(cx.apply(&self.0, x.clone()))
    }
}
