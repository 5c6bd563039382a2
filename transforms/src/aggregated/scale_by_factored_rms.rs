//! Adafactor's preconditioner.

use super::moments::average;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::program::Axes;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_factored_rms",
    family: Family::Aggregated,
    summary: "g / sqrt(row means * column means / mean), averaged over the steps",
    reference: "Shazeer and Stern, 2018, arXiv 1804.04235",
    arguments: &[
        Argument::optional("factored", "true"),
        Argument::optional("decay_rate", "0.8"),
        Argument::optional("step_offset", "0"),
        Argument::optional("min_dim_size_to_factor", "128"),
        Argument::optional("epsilon", "1e-30"),
    ],
    build: |args| {
        let mut link = scale_by_factored_rms();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Adafactor's preconditioner. Built by [`scale_by_factored_rms`].
#[derive(Clone, Debug)]
pub struct ScaleByFactoredRms {
    factored: bool,
    pub(crate) decay_rate: Hyper,
    step_offset: usize,
    min_dim_size_to_factor: usize,
    pub(crate) epsilon: Hyper,
}

/// Divides the gradient by the root of an average of its squares, which for matrices is the product of their means over rows and over
/// columns: `v = rows * columns / mean of rows`, along the two longest axes. Leaves without two axes of at least
/// `min_dim_size_to_factor` keep the average as it is.
///
/// The decay at step t is `1 - t^-decay_rate`, so the first average is the first square. Defaults: factored, decay_rate 0.8,
/// step_offset 0, min_dim_size_to_factor 128, epsilon 1e-30.
///
/// # State
/// Two averages of the full shape of the parameters: the rule is Adafactor's, its saving of memory is not.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for epsilon 0 |
///
/// # Errors
/// `decay_rate` and `epsilon` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_factored_rms()))).is_ok());
/// ```
///
/// # Reference
/// Shazeer, Stern, 2018, arXiv 1804.04235.
pub fn scale_by_factored_rms() -> ScaleByFactoredRms {
    ScaleByFactoredRms {
        factored: true,
        decay_rate: 0.8.into(),
        step_offset: 0,
        min_dim_size_to_factor: 128,
        epsilon: 1e-30.into(),
    }
}

impl ScaleByFactoredRms {
    hyper_setters! {
        /// How fast the decay nears 1: at step t it is `1 - t^-decay_rate`.
        decay_rate;
        /// A number added to the squares.
        epsilon;
    }

    /// Whether large matrices are factored.
    #[must_use]
    pub fn factored(mut self, factored: bool) -> Self {
        self.factored = factored;
        self
    }

    /// How many steps to count less, for going on with a trained model; the steps up to it count as the first.
    #[must_use]
    pub fn step_offset(mut self, step_offset: usize) -> Self {
        self.step_offset = step_offset;
        self
    }

    /// The smallest length of the two longest axes of a leaf that is factored.
    #[must_use]
    pub fn min_dim_size_to_factor(mut self, min_dim_size_to_factor: usize) -> Self {
        self.min_dim_size_to_factor = min_dim_size_to_factor;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.factored = args.flag("factored")?.unwrap_or(self.factored);
        args.set_hyper("decay_rate", &mut self.decay_rate)?;
        self.step_offset = args.count("step_offset")?.unwrap_or(self.step_offset);
        self.min_dim_size_to_factor = args
            .count("min_dim_size_to_factor")?
            .unwrap_or(self.min_dim_size_to_factor);
        args.set_hyper("epsilon", &mut self.epsilon)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByFactoredRms {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let decay_rate = cx.hyper(
            "decay_rate",
            &self.decay_rate.or_named("decay_rate"),
            Domain::NonNegative,
        );
        let epsilon = cx.hyper(
            "epsilon",
            &self.epsilon.or_named("epsilon"),
            Domain::NonNegative,
        );
        #[allow(clippy::cast_precision_loss)] // below 2^53
        let t = (cx.step() + (1.0 - self.step_offset as f64)).max(1.0);
        let decay = 1.0 - t.pow(-decay_rate);
        let squares = x.square() + epsilon;
        let chosen = if self.factored {
            cx.by_shape(Leaves::TwoAxesAtLeast(self.min_dim_size_to_factor))
        } else {
            Leaves::All.negate()
        };
        // What is not factored keeps its squares where the others keep the means of their rows.
        let rows = cx.choose(&chosen, &squares.mean_along(Axes::Longest), &squares);
        let rows = average(cx, "rows", &decay, &rows);
        let columns = squares.mean_along(Axes::SecondLongest);
        let columns = columns.keep_where(&cx.selected(&chosen), 0.0);
        let columns = average(cx, "columns", &decay, &columns);
        let share = rows.div_or_zero(rows.mean_along(Axes::SecondLongest));
        let factored = x.div_or_zero(share.sqrt()).div_or_zero(columns.sqrt());
        cx.choose(&chosen, &factored, &x.div_or_zero(rows.sqrt()))
            .as_input()
    }
}
