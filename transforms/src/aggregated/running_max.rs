//! The largest over the steps.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "running_max",
    family: Family::Aggregated,
    summary: "m <- max(m, g)",
    reference: "",
    arguments: &[Argument::optional("init", "0")],
    build: |args| {
        let mut link = running_max();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The largest over the steps. Built by [`running_max`].
#[derive(Clone, Debug)]
pub struct RunningMax {
    init: f64,
}

/// Keeps the largest value of each element over all steps. AMSGrad's denominator is
/// `chain((square(), ema(0.999), running_max(), sqrt()))`.
///
/// # State
/// `running_max.max`, in the shape of the parameters.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | a NaN | NaN from then on: it shows |
///
/// # Errors
/// `init` must be finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), running_max()))).is_ok());
/// ```
pub fn running_max() -> RunningMax {
    RunningMax { init: 0.0 }
}

impl RunningMax {
    /// What the largest is before the first step.
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

impl<In: ExamplesReduced> Transform<In> for RunningMax {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        cx.state_from("max", self.init, |max| max.max(x)).as_input()
    }
}
