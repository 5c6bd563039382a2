//! Each example's gradient over the root of what earlier steps were like.

use crate::axis::{ExamplesApart, PerExample};
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_past_rms",
    family: Family::PerExample,
    summary: "g_b / (sqrt(v / (1 - decay^t)) + eps); v <- decay * v + (1 - decay) * (mean g)^2",
    reference: "after Li et al., 2022, arXiv 2212.00309",
    arguments: &[
        Argument::optional("decay", "0.999"),
        Argument::optional("eps", "1e-8"),
    ],
    build: |args| {
        let mut link = scale_by_past_rms();
        args.set_hyper("decay", &mut link.decay)?;
        args.set_hyper("eps", &mut link.eps)?;
        Ok(Link::per_example(link))
    },
};

/// Each example's gradient over the root of what earlier steps were like. Built by [`scale_by_past_rms`].
#[derive(Clone, Debug)]
pub struct ScaleByPastRms {
    decay: Hyper,
    eps: Hyper,
}

/// Divides each example's gradient by the root of an average of the squared mean gradients of **earlier** steps:
/// `g_b / (sqrt(v) + eps)`, `[B, ..p] -> [B, ..p]`. At the first step nothing is known, and the gradients pass unchanged.
///
/// Before a clip this is *scale, then clip*: coordinates of small gradients are no longer drowned by the bound on the norm, and
/// since `v` knows nothing of this batch, the clip still bounds what one example can do to the step:
/// `chain((scale_by_past_rms(), clip_per_example(1.0), mean(), scale_by_learning_rate(0.1)))`. As it stands `v` is made of the
/// gradients as they come, so a step of differential privacy needs more than this link.
///
/// Defaults: decay 0.999, eps 1e-8.
///
/// # State
/// `scale_by_past_rms.square`, in the shape of the parameters, 0 before the first step.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | first step | the gradients |
/// | a coordinate that was always 0 before | its gradients over eps; the clip after it bounds them |
///
/// # Errors
/// `decay` must be at least 0 and below 1, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((scale_by_past_rms(), clip_per_example(1.0), mean()))).is_ok());
/// ```
///
/// # Reference
/// Li, Zaheer, Liu, Reddi, McMahan, Smith, 2022, arXiv 2212.00309, precondition with delayed averages before they clip.
pub fn scale_by_past_rms() -> ScaleByPastRms {
    ScaleByPastRms {
        decay: 0.999.into(),
        eps: 1e-8.into(),
    }
}

impl ScaleByPastRms {
    hyper_setters! {
        /// The decay of the average.
        decay;
        /// A number added to the root.
        eps;
    }
}

impl<In: ExamplesApart> Transform<In> for ScaleByPastRms {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let decay = cx.hyper("decay", &self.decay, Domain::Decay);
        let eps = cx.hyper("eps", &self.eps, Domain::NonNegative);
        let square = cx.slot::<Leaf>("square", 0.0);
        let before = square.before();
        let now = x.mean().square() * (1.0 - &decay);
        cx.set(square, &(&before * &decay + now));
        let steps = cx.step();
        let first = steps.equal(0.0);
        // At the first step the divisor is 1, not 0 / 0.
        let known = first.select(1.0, 1.0 - decay.pow(steps));
        let root = (before / known).sqrt() + eps;
        x.div_or_zero(first.select(1.0, root))
    }
}
