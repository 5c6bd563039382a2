//! One statistic over another: the shape of every preconditioner.

use std::borrow::Cow;

use crate::axis::{Axis, Join};
use crate::hyper::{Domain, Hyper};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// `numerator / (denominator + eps)` of one input. Built by [`ratio`].
#[derive(Clone, Debug)]
pub struct Ratio<Numerator, Denominator> {
    numerator: Numerator,
    denominator: Denominator,
    eps: Hyper,
}

/// Divides one statistic of the gradients by another: `numerator / (denominator + eps)`.
///
/// Where the two stand is free: the same two averages are Adam's or MicroAdam's by where `mean` stands.
///
/// # Edge cases
/// | numerator | denominator + eps | result |
/// |--|--|--|
/// | 0 | 0 | 0 |
/// | not 0 | 0 | infinite: it shows |
///
/// # Errors
/// `eps` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let root_of_mean_square = || chain((square(), mean(), ema(0.999), sqrt()));
/// let micro_adam = ratio(chain((mean(), ema(0.9))), root_of_mean_square(), 1e-8);
/// assert!(program(&micro_adam).is_ok());
/// ```
pub fn ratio<Numerator, Denominator>(
    numerator: Numerator,
    denominator: Denominator,
    eps: impl Into<Hyper>,
) -> Ratio<Numerator, Denominator> {
    Ratio {
        numerator,
        denominator,
        eps: eps.into(),
    }
}

impl<In, Numerator, Denominator> Transform<In> for Ratio<Numerator, Denominator>
where
    In: Axis,
    Numerator: Transform<In>,
    Denominator: Transform<In>,
    Numerator::Out: Join<Denominator::Out>,
{
    type Out = <Numerator::Out as Join<Denominator::Out>>::Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Self::Out> {
        let numerator = cx.apply(&self.numerator, x.clone());
        let denominator = cx.apply(&self.denominator, x);
        let eps = cx.hyper("eps", &self.eps, Domain::NonNegative);
        numerator.div_or_zero(denominator + eps)
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed("ratio"))
    }
}
