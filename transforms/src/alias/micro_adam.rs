//! Adam whose second moment follows another statistic of the examples than the square of their mean.

use std::borrow::Cow;

use crate::aggregated::{ema, scale_by_learning_rate};
use crate::axis::{Aggregated, ExamplesApart, PerExample};
use crate::combine::{chain, ratio};
use crate::elementwise::{at_least, sqrt, square};
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::over_examples::{mean, unbiased_square_of_mean, variance};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

macro_rules! arguments {
    ($($more:expr),*) => {
        &[
            Argument::required("learning_rate"),
            Argument::optional("b1", "0.9"),
            Argument::optional("b2", "0.999"),
            Argument::optional("eps", "1e-8"),
            $($more),*
        ]
    };
}

pub(crate) const ENTRY: Entry = Entry {
    name: "micro_adam",
    family: Family::Alias,
    summary: "adam_with_second_moment(mean g^2)",
    reference: "Roulet and Agarwala, 2025, arXiv 2510.00236",
    arguments: arguments!(),
    build: |args| micro_adam(args.hyper("learning_rate")?).read(args),
};

pub(crate) const VAR: Entry = Entry {
    name: "micro_adam_var",
    summary: "adam_with_second_moment(variance)",
    build: |args| micro_adam_var(args.hyper("learning_rate")?).read(args),
    ..ENTRY
};

pub(crate) const MSQ: Entry = Entry {
    name: "micro_adam_msq",
    summary: "adam_with_second_moment(unbiased square of the mean)",
    build: |args| micro_adam_msq(args.hyper("learning_rate")?).read(args),
    ..ENTRY
};

pub(crate) const INTERPOLATION: Entry = Entry {
    name: "adam_interpolation",
    summary: "adam_with_second_moment(a * unbiased square of the mean + c * variance)",
    arguments: arguments!(Argument::required("a"), Argument::required("c")),
    build: |args| {
        let (rate, a, c) = (
            args.hyper("learning_rate")?,
            args.hyper("a")?,
            args.hyper("c")?,
        );
        adam_interpolation(rate, a, c).read(args)
    },
    ..ENTRY
};

pub(crate) const WITH_SECOND_MOMENT: Entry = Entry {
    name: "adam_with_second_moment",
    summary: "ratio(mean, ema(b1); statistic, ema(b2), at_least(0), sqrt), scale_by_learning_rate",
    arguments: arguments!(Argument::required("statistic")),
    build: |args| {
        let statistic = args.statistic("statistic")?;
        adam_with_second_moment(args.hyper("learning_rate")?, statistic).read(args)
    },
    ..ENTRY
};

/// Adam with another second moment. Built by [`adam_with_second_moment`] and its special cases.
#[derive(Clone, Debug)]
pub struct MicroAdam<Statistic> {
    name: &'static str,
    learning_rate: Hyper,
    b1: Hyper,
    b2: Hyper,
    eps: Hyper,
    statistic: Statistic,
}

/// Adam on the mean gradient, whose second moment averages a statistic of the examples of your choice:
///
/// `ratio(chain((mean(), ema(b1))), chain((statistic, ema(b2), at_least(0.0), sqrt())), eps)`, then the learning rate.
///
/// The statistic has squared units of the gradient. Noise may make its average negative, as with
/// [`unbiased_square_of_mean`](crate::unbiased_square_of_mean): it is clamped at 0 after the averaging, so the estimate stays
/// unbiased as long as it can. Defaults: b1 0.9, b2 0.999, eps 1e-8.
///
/// | statistic | name | expectation, for gradients of mean mu and variance s2 |
/// |--|--|--|
/// | `mean().then(square())` | [`adam`](crate::adam) | mu^2 + s2/B |
/// | `square().then(mean())` | [`micro_adam`] | mu^2 + s2 |
/// | `variance(1)` | [`micro_adam_var`] | s2 |
/// | `unbiased_square_of_mean()` | [`micro_adam_msq`] | mu^2 |
/// | a mixture of the last two | [`adam_interpolation`] | a mu^2 + c s2 |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let robust = adam_with_second_moment(1e-3, square().then(median()));
/// assert!(optimizer_program(&robust).is_ok());
/// ```
///
/// # Reference
/// Roulet, Agarwala, 2025, arXiv 2510.00236. The formulas of `micro_adam_var` and `micro_adam_msq` are our reading.
/// ("MicroAdam" also names an unrelated, memory-saving optimizer, arXiv 2405.15593.)
pub fn adam_with_second_moment<Statistic>(
    learning_rate: impl Into<Hyper>,
    statistic: Statistic,
) -> MicroAdam<Statistic>
where
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    MicroAdam {
        name: "adam_with_second_moment",
        learning_rate: learning_rate.into(),
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
        statistic,
    }
}

type AnyMicroAdam = MicroAdam<Preconditioner>;

/// The named statistics, as one type.
#[derive(Clone, Debug)]
pub enum Preconditioner {
    /// The mean of the squares.
    MeanSquare,
    /// The unbiased variance.
    Variance,
    /// The unbiased square of the mean.
    SquareOfMean,
    /// `a * unbiased square of the mean + c * unbiased variance`.
    Interpolation {
        /// The weight of the square of the mean.
        a: Hyper,
        /// The weight of the variance.
        c: Hyper,
    },
}

impl Transform<PerExample> for Preconditioner {
    type Out = Aggregated;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        match self {
            Self::MeanSquare => cx.apply(&chain((square(), mean())), x),
            Self::Variance => cx.apply(&variance(1), x),
            Self::SquareOfMean => cx.apply(&unbiased_square_of_mean(), x),
            Self::Interpolation { a, c } => {
                let a = cx.hyper("a", &a.or_named("a"), Domain::NonNegative);
                let c = cx.hyper("c", &c.or_named("c"), Domain::NonNegative);
                let square_of_mean = cx.apply(&unbiased_square_of_mean(), x.clone());
                square_of_mean * a + cx.apply(&variance(1), x) * c
            }
        }
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}

/// Adam whose second moment follows the mean of the squares of the examples' gradients instead of the square of their
/// mean. With one example it is Adam.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&micro_adam(1e-3)).is_ok());
/// ```
///
/// # Reference
/// Roulet, Agarwala, 2025, arXiv 2510.00236. Not the optimizer of arXiv 2405.15593, which has the same name.
pub fn micro_adam(learning_rate: impl Into<Hyper>) -> AnyMicroAdam {
    adam_with_second_moment(learning_rate, Preconditioner::MeanSquare).called("micro_adam")
}

/// Adam whose second moment follows the unbiased variance of the examples' gradients.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 1 | an error that names the link: the variance has no value there |
/// | all examples alike | the variance is 0 and only `eps` divides: the update is as large as `learning_rate / eps` times the gradient; clip after, or raise `eps` |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&micro_adam_var(1e-3)).is_ok());
/// ```
///
/// # Reference
/// Roulet, Agarwala, 2025, arXiv 2510.00236; the formula is our reading.
pub fn micro_adam_var(learning_rate: impl Into<Hyper>) -> AnyMicroAdam {
    adam_with_second_moment(learning_rate, Preconditioner::Variance).called("micro_adam_var")
}

/// Adam whose second moment follows the unbiased square of the expected gradient.
///
/// # Edge cases
/// | batch | result |
/// |--|--|
/// | B = 1 | an error that names the link: the variance has no value there |
/// | noise dominates | the averaged estimate may be below 0, is clamped there, and only `eps` divides: the update is as large as `learning_rate / eps` times the gradient; clip after, or raise `eps` |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&micro_adam_msq(1e-3)).is_ok());
/// ```
///
/// # Reference
/// Roulet, Agarwala, 2025, arXiv 2510.00236; the formula is our reading.
pub fn micro_adam_msq(learning_rate: impl Into<Hyper>) -> AnyMicroAdam {
    adam_with_second_moment(learning_rate, Preconditioner::SquareOfMean).called("micro_adam_msq")
}

/// The family that [`adam`](crate::adam), [`micro_adam`], [`micro_adam_var`] and [`micro_adam_msq`] are points of: the
/// second moment follows `a * (unbiased square of the mean) + c * (unbiased variance)`.
///
/// Adam is (1, 1/B), MicroAdam (1, 1), MicroAdamVar (0, 1), MicroAdamMSQ (1, 0). A batch of one is an error.
///
/// # Errors
/// `a` and `c` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&adam_interpolation(1e-3, 1.0, 0.5)).is_ok());
/// ```
///
/// # Reference
/// Derived from the identities of Roulet, Agarwala, 2025, arXiv 2510.00236.
pub fn adam_interpolation(
    learning_rate: impl Into<Hyper>,
    a: impl Into<Hyper>,
    c: impl Into<Hyper>,
) -> AnyMicroAdam {
    let (a, c) = (a.into(), c.into());
    adam_with_second_moment(learning_rate, Preconditioner::Interpolation { a, c })
        .called("adam_interpolation")
}

impl<Statistic> MicroAdam<Statistic> {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the statistic.
        b2;
        /// A number added to the root.
        eps;
    }

    /// The name in errors: that of the function that built it.
    fn called(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    fn read(mut self, args: &mut Arguments<'_>) -> Result<Link, crate::Error>
    where
        Self: Transform<PerExample, Out = Aggregated> + Send + Sync + 'static,
    {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(Link::per_example(self))
    }
}

impl<In, Statistic> Transform<In> for MicroAdam<Statistic>
where
    In: ExamplesApart,
    Statistic: Transform<PerExample, Out = Aggregated>,
{
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let first = chain((mean(), ema(self.b1.or_named("b1"))));
        let average = ema(self.b2.or_named("b2"));
        let second = chain((&self.statistic, average, at_least(0.0), sqrt()));
        let direction = ratio(first, second, self.eps.or_named("eps"));
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((direction, step)), x.apart())
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(self.name))
    }
}
