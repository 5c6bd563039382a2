//! The sign as early as possible: of each example's gradient.

use crate::aggregated::{ema, scale_by_learning_rate};
use crate::axis::{Aggregated, ExamplesApart};
use crate::combine::chain;
use crate::elementwise::sign;
use crate::hyper::Hyper;
use crate::over_examples::mean;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "micro_sign_sgd",
    family: Family::Alias,
    summary: "sign, mean, ema(beta), scale_by_learning_rate",
    reference: "Roulet and Agarwala, 2025, arXiv 2510.00236",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("beta", "0.9"),
    ],
    build: |args| {
        let mut link = micro_sign_sgd(args.hyper("learning_rate")?);
        args.set_hyper("beta", &mut link.beta)?;
        Ok(Link::per_example(link))
    },
};

/// The averaged mean of the examples' signs. Built by [`micro_sign_sgd`].
#[derive(Clone, Debug)]
pub struct MicroSignSgd {
    learning_rate: Hyper,
    beta: Hyper,
}

/// Steps by a moving average of the mean of the signs of the examples' gradients: `chain((sign(), mean(),
/// ema(beta).debias(false), scale_by_learning_rate(learning_rate)))`.
///
/// The sign stands as early as possible; [`sign_ema`](crate::sign_ema) has it as late as possible. The name is our
/// reading of the paper. Default: beta 0.9.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&micro_sign_sgd(1e-3)).is_ok());
/// ```
///
/// # Reference
/// Roulet, Agarwala, 2025, arXiv 2510.00236.
pub fn micro_sign_sgd(learning_rate: impl Into<Hyper>) -> MicroSignSgd {
    MicroSignSgd {
        learning_rate: learning_rate.into(),
        beta: 0.9.into(),
    }
}

impl MicroSignSgd {
    /// The decay of the average.
    #[must_use]
    pub fn beta(mut self, beta: impl Into<Hyper>) -> Self {
        self.beta = beta.into();
        self
    }
}

impl<In: ExamplesApart> Transform<In> for MicroSignSgd {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let average = ema(self.beta.or_named("beta")).debias(false);
        let step = scale_by_learning_rate(self.learning_rate.clone());
        cx.apply(&chain((sign(), mean(), average, step)), x.apart())
    }
}
