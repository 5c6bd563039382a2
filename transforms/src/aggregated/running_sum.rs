//! The sum over the steps.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "running_sum",
    family: Family::Aggregated,
    summary: "s <- s + g",
    reference: "",
    arguments: &[Argument::optional("init", "0")],
    build: |args| {
        let mut link = running_sum();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The sum over the steps. Built by [`running_sum`].
#[derive(Clone, Debug)]
pub struct RunningSum {
    init: f64,
}

/// Adds up what comes in over all steps. Adagrad's denominator is `chain((square(), running_sum().init(0.1), sqrt()))`.
///
/// # State
/// `running_sum.sum`, in the shape of the parameters.
///
/// # Errors
/// `init` must be finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), running_sum()))).is_ok());
/// ```
pub fn running_sum() -> RunningSum {
    RunningSum { init: 0.0 }
}

impl RunningSum {
    /// What the sum is before the first step.
    #[must_use]
    pub fn init(mut self, init: f64) -> Self {
        self.init = init;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.init = args.number("init")?.unwrap_or(self.init);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for RunningSum {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        cx.state_from("sum", self.init, |sum| sum + x).as_input()
    }
}
