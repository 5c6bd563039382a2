//! Pairs of examples: the Gram matrix of the gradients, what can be computed with it, and what is refused.

mod aggregators;
mod data;
mod extents;
mod interference;
mod products;
mod rows_and_columns;

use pergrad_transforms::prelude::*;
use pergrad_transforms::{PerExample, Program};

/// A link that leaves the gradients as they are and gives out metrics.
pub(crate) struct Probe(fn(&Value<PerExample>, &Tracer));

impl Transform<PerExample> for Probe {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        self.0(&x, cx);
        x
    }
}

fn probe(metrics: fn(&Value<PerExample>, &Tracer)) -> Program {
    program(&Probe(metrics)).unwrap()
}
