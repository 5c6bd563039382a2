//! AMSGrad with another second moment.

use crate::aggregated::{ema, running_max, scale_by_learning_rate};
use crate::axis::{Aggregated, ExamplesApart, PerExample};
use crate::combine::{chain, ratio};
use crate::elementwise::sqrt;
use crate::hyper::{Hyper, hyper_setters};
use crate::over_examples::mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "amsgrad_with_second_moment",
    family: Family::Alias,
    summary: "ratio(mean, ema(b1); statistic, ema(b2), running_max, sqrt), scale_by_learning_rate",
    reference: "Roulet and Agarwala, 2025, arXiv 2510.00236",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::required("statistic"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
    ],
    build: |args| {
        let statistic = args.statistic("statistic")?;
        let mut link = amsgrad_with_second_moment(args.hyper("learning_rate")?, statistic);
        args.set_hyper("b1", &mut link.b1)?;
        args.set_hyper("b2", &mut link.b2)?;
        args.set_hyper("eps", &mut link.eps)?;
        Ok(Link::per_example(link))
    },
};

/// AMSGrad with another second moment. Built by [`amsgrad_with_second_moment`].
#[derive(Clone, Debug)]
pub struct AmsgradWithSecondMoment<Statistic> {
    learning_rate: Hyper,
    statistic: Statistic,
    b1: Hyper,
    b2: Hyper,
    eps: Hyper,
}

/// AMSGrad on the mean gradient, whose second moment averages a statistic of the examples of your choice:
/// `ratio(chain((mean(), ema(b1))), chain((statistic, ema(b2), running_max(), sqrt())), eps)`, then the learning rate.
///
/// The statistic has squared units of the gradient: `square().then(mean())`, `variance(1)`, `square().then(median())`, ... With
/// `mean().then(square())` it is [`amsgrad`](crate::amsgrad). An average that noise has made negative is clamped at 0.
///
/// Defaults: b1 0.9, b2 0.999, eps 1e-8.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | too small for the statistic | an error that names the link |
/// | all zeros | zeros |
///
/// # Errors
/// `b1` and `b2` must be at least 0 and below 1, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let optimizer = amsgrad_with_second_moment(1e-3, square().then(mean()));
/// assert!(optimizer_program(&optimizer).is_ok());
/// ```
///
/// # Reference
/// The place of the mean: Roulet, Agarwala, 2025, arXiv 2510.00236; for this optimizer it is our reading.
pub fn amsgrad_with_second_moment<Statistic>(
    learning_rate: impl Into<Hyper>,
    statistic: Statistic,
) -> AmsgradWithSecondMoment<Statistic>
where
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    AmsgradWithSecondMoment {
        learning_rate: learning_rate.into(),
        statistic,
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
    }
}

impl<Statistic> AmsgradWithSecondMoment<Statistic> {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the statistic.
        b2;
        /// A number added to the root.
        eps;
    }
}

impl<In, Statistic> Transform<In> for AmsgradWithSecondMoment<Statistic>
where
    In: ExamplesApart,
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let first = chain((mean(), ema(self.b1.or_named("b1"))));
        let average = ema(self.b2.or_named("b2"));
        // The largest begins with 0, so what is negative does not count.
        let root = chain((&self.statistic, average, running_max(), sqrt()));
        let direction = ratio(first, root, self.eps.or_named("eps"));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((direction, step)), x.apart())
    }
}
