//! SGD with Polyak's step.

use crate::aggregated::{PolyakVariant, ScaleByPolyak, scale_by_learning_rate, scale_by_polyak};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::error::Error;
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "polyak_sgd",
    family: Family::Alias,
    summary: "batch_mean, scale_by_learning_rate(scaling), scale_by_polyak",
    reference: "Loizou et al., 2020, arXiv 2002.10542",
    arguments: &[
        Argument::optional("f_min", "0"),
        Argument::optional("max_learning_rate", "1"),
        Argument::optional("eps", "0"),
        Argument::optional("variant", "sps"),
        Argument::optional("scaling", "1"),
    ],
    build: |args| {
        let mut link = polyak_sgd();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// SGD with Polyak's step. Built by [`polyak_sgd`].
#[derive(Clone, Debug)]
pub struct PolyakSgd {
    polyak: ScaleByPolyak,
    scaling: Hyper,
}

/// SGD whose step would bring a line down to the smallest loss: `chain((batch_mean(), scale_by_learning_rate(scaling),
/// scale_by_polyak()))`. It reads the loss of the step, the extra `loss`.
///
/// Defaults are optax's: max_learning_rate 1, scaling 1, f_min 0, eps 0, variant sps.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&polyak_sgd()).is_ok());
/// ```
///
/// # Reference
/// Loizou et al., 2020, arXiv 2002.10542.
pub fn polyak_sgd() -> PolyakSgd {
    PolyakSgd {
        polyak: scale_by_polyak(),
        scaling: 1.0.into(),
    }
}

impl PolyakSgd {
    hyper_setters! {
        /// A factor of the gradient, before its norm is taken.
        scaling;
        /// The smallest loss there can be.
        f_min in polyak;
        /// The largest step size.
        max_learning_rate in polyak;
        /// A number added to the squared norm.
        eps in polyak;
    }

    /// What happens to a loss below `f_min`.
    #[must_use]
    pub fn variant(mut self, variant: PolyakVariant) -> Self {
        self.polyak = self.polyak.variant(variant);
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        self.polyak.read(args)?;
        args.set_hyper("scaling", &mut self.scaling)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for PolyakSgd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.scaling.or_named("scaling"));
        cx.apply(&chain((batch_mean(), step, &self.polyak)), x)
    }
}
