//! The sign as late as possible: of the averaged mean gradient.

use crate::aggregated::{ema, scale_by_learning_rate};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::elementwise::sign;
use crate::hyper::Hyper;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sign_ema",
    family: Family::Alias,
    summary: "batch_mean, ema(beta), sign, scale_by_learning_rate",
    reference: "Roulet and Agarwala, 2025, arXiv 2510.00236",
    arguments: ARGUMENTS,
    build,
};

/// The same under optax's name.
pub(crate) const SIGNUM: Entry = Entry {
    name: "signum",
    reference: "Bernstein et al., 2018, arXiv 1802.04434",
    ..ENTRY
};

const ARGUMENTS: &[Argument] = &[
    Argument::required("learning_rate"),
    Argument::optional("beta", "0.9"),
];

fn build(args: &mut Arguments<'_>) -> Result<Link, crate::Error> {
    let mut link = sign_ema(args.hyper("learning_rate")?);
    args.set_hyper("beta", &mut link.beta)?;
    Ok(Link::both(link))
}

/// The sign of the averaged mean gradient. Built by [`sign_ema`].
#[derive(Clone, Debug)]
pub struct SignEma {
    learning_rate: Hyper,
    beta: Hyper,
}

/// Steps by the sign of a moving average of the mean gradient: `chain((batch_mean(), ema(beta).debias(false), sign(),
/// scale_by_learning_rate(learning_rate)))`.
///
/// The sign stands as late as possible, which is the best of the three placements: see also
/// [`sign_sgd`](crate::sign_sgd) and [`micro_sign_sgd`](crate::micro_sign_sgd). It is optax's `signum`. Default: beta 0.9.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&sign_ema(1e-3)).is_ok());
/// ```
///
/// # Reference
/// Roulet, Agarwala, 2025, arXiv 2510.00236 ("SignEMA"); Bernstein et al., 2018, arXiv 1802.04434 ("Signum").
pub fn sign_ema(learning_rate: impl Into<Hyper>) -> SignEma {
    SignEma {
        learning_rate: learning_rate.into(),
        beta: 0.9.into(),
    }
}

/// [`sign_ema`] under optax's name.
pub fn signum(learning_rate: impl Into<Hyper>) -> SignEma {
    sign_ema(learning_rate)
}

impl SignEma {
    /// The decay of the average.
    #[must_use]
    pub fn beta(mut self, beta: impl Into<Hyper>) -> Self {
        self.beta = beta.into();
        self
    }
}

impl<In: Axis> Transform<In> for SignEma {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let average = ema(self.beta.or_named("beta")).debias(false);
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((batch_mean(), average, sign(), step)), x)
    }
}
