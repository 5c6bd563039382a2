//! Whether the gradient is still more than noise.

use crate::axis::{ExamplesApart, PerExample};
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::program::Reduction;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "early_stopping",
    family: Family::Monitor,
    summary: "early_stopping.criterion = 1 - B * mean_p ((mean g_p)^2 / (Var(g_p) + eps))",
    reference: "Mahsereci et al., 2017, arXiv 1703.09580",
    arguments: &[Argument::optional("eps", "1e-5")],
    build: |args| {
        let mut link = early_stopping();
        args.set_hyper("eps", &mut link.eps)?;
        Ok(Link::per_example(link))
    },
};

/// Whether the gradient is still more than noise. Built by [`early_stopping`].
#[derive(Clone, Debug)]
pub struct EarlyStopping {
    eps: Hyper,
}

/// Passes the gradients on, and measures whether they still say more than noise does:
/// `early_stopping.criterion = 1 - B mean_p ((mean g_p)^2 / (Var(g_p) + eps))` over all elements p, with the unbiased variance
/// over the examples.
///
/// If the true gradient is zero, the expectation of `B (mean g_p)^2` is the variance, and the criterion is about 0; with a signal
/// it is below. Above 0 it says: stop. It is a number for each batch, and noisy where there are few elements.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B < 2 | an error that names the link |
/// | all gradients zeros | 1: stop |
/// | all examples alike, `eps` 0 | minus infinity |
/// | an element of zeros, `eps` 0 | counts as 0 |
/// | no elements | 1 |
/// | a NaN or an infinity in one example | NaN |
///
/// # Errors
/// `eps` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((monitor::early_stopping(), mean()))).is_ok());
/// ```
///
/// # Reference
/// Mahsereci, Balles, Lassner, Hennig, 2017, arXiv 1703.09580; the `eps` is that of Cockpit.
pub fn early_stopping() -> EarlyStopping {
    EarlyStopping { eps: 1e-5.into() }
}

impl EarlyStopping {
    hyper_setters! {
        /// A number added to each variance.
        eps;
    }
}

impl<In: ExamplesApart> Transform<In> for EarlyStopping {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let eps = cx.hyper("eps", &self.eps, Domain::NonNegative);
        let variance = x.reduce(Reduction::Variance { ddof: 1 });
        let ratio = x.mean().square().div_or_zero(variance + eps);
        let sum = ratio.sum_elements().sum_leaves();
        let mean = sum.div_or_zero(cx.leaf_size().sum_leaves());
        cx.emit("criterion", &(1.0 - mean * cx.batch_size()));
        x
    }
}
