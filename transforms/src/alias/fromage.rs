//! Fromage.

use crate::aggregated::scale_by_trust_ratio;
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "fromage",
    family: Family::Alias,
    summary: "batch_mean, scale_by_trust_ratio, scale_by_learning_rate(learning_rate / sqrt(1 + learning_rate^2)), add (1 / sqrt(1 + learning_rate^2) - 1) * p",
    reference: "Bernstein et al., 2020, arXiv 2002.03432",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("min_norm", "1e-6"),
    ],
    build: |args| {
        let mut link = fromage(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Fromage. Built by [`fromage`].
#[derive(Clone, Debug)]
pub struct Fromage {
    learning_rate: Hyper,
    min_norm: Hyper,
}

/// Steps of the same size relative to the norm of each leaf, after which the leaf is shrunk so that it does not grow: with
/// `c = 1 / sqrt(1 + learning_rate^2)` it is [`scale_by_trust_ratio`](crate::scale_by_trust_ratio) of the mean gradient, times
/// `-learning_rate * c`, plus `(c - 1) * p`.
///
/// Default: min_norm 1e-6.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&fromage(0.1)).is_ok());
/// ```
///
/// # Reference
/// Bernstein et al., 2020, arXiv 2002.03432.
pub fn fromage(learning_rate: impl Into<Hyper>) -> Fromage {
    Fromage {
        learning_rate: learning_rate.into(),
        min_norm: 1e-6.into(),
    }
}

impl Fromage {
    hyper_setters! {
        /// The smallest norm that counts, of parameters and gradients.
        min_norm;
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("min_norm", &mut self.min_norm)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Fromage {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let ratio = scale_by_trust_ratio().min_norm(self.min_norm.or_named("min_norm"));
        let x = cx.apply(&chain((batch_mean(), ratio)), x);
        let rate = self.learning_rate.or_named("learning_rate");
        let rate = cx.hyper("learning_rate", &rate, Domain::NonNegative);
        let shrink = 1.0 / (rate.square() + 1.0).sqrt();
        cx.params() * (&shrink - 1.0) - x * rate * shrink
    }
}
