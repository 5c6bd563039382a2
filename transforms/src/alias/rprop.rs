//! Rprop.

use crate::aggregated::scale_by_rprop;
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::elementwise::scale;
use crate::error::Error;
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "rprop",
    family: Family::Alias,
    summary: "batch_mean, scale_by_rprop, scale(-1)",
    reference: "Riedmiller and Braun, 1993, ICNN",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("eta_minus", "0.5"),
        Argument::optional("eta_plus", "1.2"),
        Argument::optional("min_step_size", "1e-6"),
        Argument::optional("max_step_size", "50"),
        Argument::optional("late", "false"),
    ],
    build: |args| {
        let mut link = rprop(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Rprop. Built by [`rprop`].
#[derive(Clone, Debug)]
pub struct Rprop {
    learning_rate: Hyper,
    eta_minus: Hyper,
    eta_plus: Hyper,
    min_step_size: Hyper,
    max_step_size: Hyper,
    late: bool,
}

/// Rprop on the mean gradient: `chain((batch_mean(), scale_by_rprop(learning_rate), scale(-1.0)))`. It is meant for whole data sets,
/// where the sign of a gradient is no noise.
///
/// Defaults: eta_minus 0.5, eta_plus 1.2, steps from 1e-6 to 50. optax gives out each step one step late: set `late` for that.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&rprop(0.1)).is_ok());
/// ```
///
/// # Reference
/// Riedmiller, Braun, 1993, ICNN.
pub fn rprop(learning_rate: impl Into<Hyper>) -> Rprop {
    Rprop {
        learning_rate: learning_rate.into(),
        eta_minus: 0.5.into(),
        eta_plus: 1.2.into(),
        min_step_size: 1e-6.into(),
        max_step_size: 50.0.into(),
        late: false,
    }
}

impl Rprop {
    hyper_setters! {
        /// The factor when the sign changes.
        eta_minus;
        /// The factor while the sign stays.
        eta_plus;
        /// The smallest step.
        min_step_size;
        /// The largest step.
        max_step_size;
    }

    /// Whether each step is given out one step late, as optax does.
    #[must_use]
    pub fn late(mut self, late: bool) -> Self {
        self.late = late;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("eta_minus", &mut self.eta_minus)?;
        args.set_hyper("eta_plus", &mut self.eta_plus)?;
        args.set_hyper("min_step_size", &mut self.min_step_size)?;
        args.set_hyper("max_step_size", &mut self.max_step_size)?;
        self.late = args.flag("late")?.unwrap_or(self.late);
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Rprop {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let signs = scale_by_rprop(self.learning_rate.or_named("learning_rate"))
            .eta_minus(self.eta_minus.clone())
            .eta_plus(self.eta_plus.clone())
            .min_step_size(self.min_step_size.clone())
            .max_step_size(self.max_step_size.clone())
            .late(self.late);
        cx.apply(&chain((batch_mean(), signs, scale(-1.0))), x)
    }
}
