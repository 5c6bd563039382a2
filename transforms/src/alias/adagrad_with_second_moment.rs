//! Adagrad with another second moment.

use crate::aggregated::{running_sum, scale_by_learning_rate};
use crate::axis::{Aggregated, ExamplesApart, PerExample};
use crate::combine::{chain, ratio};
use crate::elementwise::{add_scalar, at_least, sqrt};
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "adagrad_with_second_moment",
    family: Family::Alias,
    summary: "ratio(mean; statistic, running_sum, at_least(0), + eps, sqrt), scale_by_learning_rate",
    reference: "Roulet and Agarwala, 2025, arXiv 2510.00236",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::required("statistic"),
        Argument::optional("eps", "1e-7"),
    ],
    build: |args| {
        let statistic = args.statistic("statistic")?;
        let mut link = adagrad_with_second_moment(args.hyper("learning_rate")?, statistic);
        args.set_hyper("eps", &mut link.eps)?;
        Ok(Link::per_example(link))
    },
};

/// Adagrad with another second moment. Built by [`adagrad_with_second_moment`].
#[derive(Clone, Debug)]
pub struct AdagradWithSecondMoment<Statistic> {
    learning_rate: Hyper,
    statistic: Statistic,
    eps: Hyper,
}

/// Adagrad on the mean gradient, whose second moment adds up a statistic of the examples of your choice:
/// `ratio(mean(), chain((statistic, running_sum().init(0.1), at_least(0.0), add_scalar(eps), sqrt())), 0.0)`, then the learning rate.
///
/// The statistic has squared units of the gradient: `square().then(mean())`, `variance(1)`, `square().then(median())`, ... With
/// `mean().then(square())` it is [`adagrad`](crate::adagrad). An average that noise has made negative is clamped at 0.
///
/// The sum begins with 0.1. Default: eps 1e-7 under the root.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | too small for the statistic | an error that names the link |
/// | all zeros | zeros |
///
/// # Errors
/// `eps` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let optimizer = adagrad_with_second_moment(1e-3, square().then(mean()));
/// assert!(optimizer_program(&optimizer).is_ok());
/// ```
///
/// # Reference
/// The place of the mean: Roulet, Agarwala, 2025, arXiv 2510.00236; for this optimizer it is our reading.
pub fn adagrad_with_second_moment<Statistic>(
    learning_rate: impl Into<Hyper>,
    statistic: Statistic,
) -> AdagradWithSecondMoment<Statistic>
where
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    AdagradWithSecondMoment {
        learning_rate: learning_rate.into(),
        statistic,
        eps: 1e-7.into(),
    }
}

impl<Statistic> AdagradWithSecondMoment<Statistic> {
    hyper_setters! {
        /// A number added under the root.
        eps;
    }
}

impl<In, Statistic> Transform<In> for AdagradWithSecondMoment<Statistic>
where
    In: ExamplesApart,
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let shift = add_scalar(self.eps.or_named("eps")).not_negative();
        let sum = running_sum().init(0.1);
        let root = chain((&self.statistic, sum, at_least(0.0), shift, sqrt()));
        let direction = ratio(mean(), root, 0.0);
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((direction, step)), x.apart())
    }
}
