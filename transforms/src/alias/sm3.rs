//! SM3.

use crate::aggregated::{scale_by_learning_rate, scale_by_sm3};
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
    name: "sm3",
    family: Family::Alias,
    summary: "batch_mean, scale_by_sm3, scale(-learning_rate)",
    reference: "Anil et al., 2019, arXiv 1901.11150",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("momentum", "0.9"),
    ],
    build: |args| {
        let mut link = sm3(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// SM3. Built by [`sm3`].
#[derive(Clone, Debug)]
pub struct Sm3 {
    learning_rate: Hyper,
    momentum: Hyper,
}

/// SM3 on the mean gradient: `chain((batch_mean(), scale_by_sm3().b1(momentum), scale_by_learning_rate(learning_rate)))`.
///
/// Default: momentum 0.9.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&sm3(0.1)).is_ok());
/// ```
///
/// # Reference
/// Anil et al., 2019, arXiv 1901.11150.
pub fn sm3(learning_rate: impl Into<Hyper>) -> Sm3 {
    Sm3 {
        learning_rate: learning_rate.into(),
        momentum: 0.9.into(),
    }
}

impl Sm3 {
    hyper_setters! {
        /// The decay of the average of the results.
        momentum;
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("momentum", &mut self.momentum)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Sm3 {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        let direction = scale_by_sm3().b1(self.momentum.or_named("momentum"));
        cx.apply(&chain((batch_mean(), direction, step)), x)
    }
}
