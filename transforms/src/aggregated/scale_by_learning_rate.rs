//! The step against the gradient.

use crate::axis::Axis;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_learning_rate",
    family: Family::Aggregated,
    summary: "-learning_rate * g",
    reference: "",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("flip_sign", "true"),
    ],
    build: |args| {
        let link = scale_by_learning_rate(args.hyper("learning_rate")?);
        let flip = args.flag("flip_sign")?.unwrap_or(true);
        Ok(Link::both(link.flip_sign(flip)))
    },
};

/// The step against the gradient. Built by [`scale_by_learning_rate`].
#[derive(Clone, Debug)]
pub struct ScaleByLearningRate {
    learning_rate: Hyper,
    flip_sign: bool,
}

/// Multiplies the gradients by `-learning_rate`, so that adding the result to the parameters goes downhill.
///
/// Its hyper-parameter is named `learning_rate`, without the link. A schedule is evaluated at the number of steps taken
/// before, so the first update sees `schedule(0)`.
///
/// # Errors
/// `learning_rate` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let program = program(&chain((mean(), scale_by_learning_rate(0.1)))).unwrap();
/// assert_eq!(program.hypers()[0].name, "learning_rate");
/// ```
pub fn scale_by_learning_rate(learning_rate: impl Into<Hyper>) -> ScaleByLearningRate {
    ScaleByLearningRate {
        learning_rate: learning_rate.into(),
        flip_sign: true,
    }
}

impl ScaleByLearningRate {
    /// Whether the sign is flipped; `false` multiplies by `+learning_rate`.
    #[must_use]
    pub fn flip_sign(mut self, flip: bool) -> Self {
        self.flip_sign = flip;
        self
    }
}

impl<In: Axis> Transform<In> for ScaleByLearningRate {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let hyper = self.learning_rate.or_named("learning_rate");
        let rate = cx.hyper("learning_rate", &hyper, Domain::NonNegative);
        x * if self.flip_sign { -rate } else { rate }
    }
}
