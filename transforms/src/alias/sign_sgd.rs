//! The sign between the mean and the average.

use crate::aggregated::{ema, scale_by_learning_rate};
use crate::axis::{Aggregated, Axis};
use crate::combine::chain;
use crate::elementwise::sign;
use crate::hyper::Hyper;
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sign_sgd",
    family: Family::Alias,
    summary: "batch_mean, sign, [ema(beta),] scale_by_learning_rate",
    reference: "Bernstein et al., 2018, arXiv 1802.04434; placement: arXiv 2510.00236",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("beta", "none"),
    ],
    build: |args| {
        let mut link = sign_sgd(args.hyper("learning_rate")?);
        if let Some(beta) = args.optional_hyper("beta")? {
            link = link.beta(beta);
        }
        Ok(Link::both(link))
    },
};

/// The sign of the mean gradient. Built by [`sign_sgd`].
#[derive(Clone, Debug)]
pub struct SignSgd {
    learning_rate: Hyper,
    beta: Option<Hyper>,
}

/// Steps by the sign of the mean gradient, averaged over the steps if `beta` is set: `chain((batch_mean(), sign(),
/// ema(beta).debias(false), scale_by_learning_rate(learning_rate)))`.
///
/// Without `beta` it is optax's `sign_sgd`. The middle one of the three placements of the sign; the name "SignSGD" for it
/// and the place of its average are our reading of the paper.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&sign_sgd(1e-3).beta(0.9)).is_ok());
/// ```
///
/// # Reference
/// Bernstein et al., 2018, arXiv 1802.04434; Roulet, Agarwala, 2025, arXiv 2510.00236.
pub fn sign_sgd(learning_rate: impl Into<Hyper>) -> SignSgd {
    SignSgd {
        learning_rate: learning_rate.into(),
        beta: None,
    }
}

impl SignSgd {
    /// The decay of the average over the steps; none unless set.
    #[must_use]
    pub fn beta(mut self, beta: impl Into<Hyper>) -> Self {
        self.beta = Some(beta.into());
        self
    }
}

impl<In: Axis> Transform<In> for SignSgd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let step = scale_by_learning_rate(self.learning_rate.clone());
        match &self.beta {
            None => cx.apply(&chain((batch_mean(), sign(), step)), x),
            Some(beta) => {
                let average = ema(beta.or_named("beta")).debias(false);
                cx.apply(&chain((batch_mean(), sign(), average, step)), x)
            }
        }
    }
}
