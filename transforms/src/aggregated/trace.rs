//! Momentum: a decaying sum of the gradients.

use crate::axis::ExamplesReduced;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "trace",
    family: Family::Aggregated,
    summary: "t <- g + decay * t",
    reference: "",
    arguments: &[
        Argument::required("decay"),
        Argument::optional("nesterov", "false"),
    ],
    build: |args| {
        let link = trace(args.hyper("decay")?).nesterov(args.flag("nesterov")?.unwrap_or(false));
        Ok(Link::aggregated(link))
    },
};

/// Momentum: a decaying sum of the gradients. Built by [`trace`].
#[derive(Clone, Debug)]
pub struct Trace {
    decay: Hyper,
    nesterov: bool,
}

/// Adds up the gradients of the steps, fading by `decay`: `t <- g + decay * t`. The gradient is not dampened, so the sum
/// is up to `1 / (1 - decay)` times as large.
///
/// # State
/// `trace.sum`, in the shape of the parameters, 0 before the first step.
///
/// # Errors
/// `decay` must be from 0 to 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), trace(0.9), scale(-0.1)))).is_ok());
/// ```
pub fn trace(decay: impl Into<Hyper>) -> Trace {
    Trace {
        decay: decay.into(),
        nesterov: false,
    }
}

impl Trace {
    /// Whether to give out `g + decay * t` with the new t, one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }
}

impl<In: ExamplesReduced> Transform<In> for Trace {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut crate::Tracer) -> Value<In> {
        let x = x.reduced();
        let decay = cx.hyper("decay", &self.decay, Domain::Share);
        let sum = cx.state("sum", 0.0, |sum| &x + sum * &decay);
        let step = if self.nesterov { x + sum * decay } else { sum };
        step.as_input()
    }
}
