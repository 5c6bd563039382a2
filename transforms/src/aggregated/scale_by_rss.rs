//! Adagrad's preconditioner.

use crate::aggregated::running_sum;
use crate::axis::ExamplesReduced;
use crate::combine::chain;
use crate::elementwise::square;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_rss",
    family: Family::Aggregated,
    summary: "g / sqrt(sum of g^2 over the steps + eps)",
    reference: "Duchi et al., 2011, JMLR 12",
    arguments: &[
        Argument::optional("initial_accumulator_value", "0.1"),
        Argument::optional("eps", "1e-7"),
    ],
    build: |args| {
        let mut link = scale_by_rss();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Adagrad's preconditioner. Built by [`scale_by_rss`].
#[derive(Clone, Debug)]
pub struct ScaleByRss {
    initial_accumulator_value: f64,
    pub(crate) eps: Hyper,
}

/// Divides the gradient by the root of the sum of its squares over all steps:
/// `ratio(identity(), chain((square(), running_sum().init(0.1), add_scalar(eps), sqrt())), 0.0)`.
///
/// Defaults are optax's: the sum begins with 0.1, eps 1e-7 under the root.
///
/// # State
/// The sum of the squares, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for a sum that begins with 0 and eps 0 |
///
/// # Errors
/// `initial_accumulator_value` must be finite, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_rss()))).is_ok());
/// ```
///
/// # Reference
/// Duchi et al., 2011, JMLR 12.
pub fn scale_by_rss() -> ScaleByRss {
    ScaleByRss {
        initial_accumulator_value: 0.1,
        eps: 1e-7.into(),
    }
}

impl ScaleByRss {
    hyper_setters! {
        /// A number added under the root.
        eps;
    }

    /// What the sum of the squares is before the first step.
    #[must_use]
    pub fn initial_accumulator_value(mut self, initial_accumulator_value: f64) -> Self {
        self.initial_accumulator_value = initial_accumulator_value;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.initial_accumulator_value = args
            .number("initial_accumulator_value")?
            .unwrap_or(self.initial_accumulator_value);
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByRss {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let sum = running_sum().init(self.initial_accumulator_value);
        let squares = cx.apply(&chain((square(), sum)), x.clone());
        x.div_or_zero((squares + eps).sqrt()).as_input()
    }
}
