//! The batch size that the noise asks for, coupled to the learning rate.

use super::spread::trace_by_norms;
use crate::axis::{ExamplesApart, PerExample};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "cabs",
    family: Family::Monitor,
    summary: "cabs.batch_size = learning_rate * (mean_b ||g_b||^2 - ||mean g||^2) / loss",
    reference: "Balles et al., 2017, arXiv 1612.05086",
    arguments: &[Argument::required("learning_rate")],
    build: |args| Ok(Link::per_example(cabs(args.hyper("learning_rate")?))),
};

/// The batch size that the noise asks for. Built by [`cabs`].
#[derive(Clone, Debug)]
pub struct Cabs {
    learning_rate: Hyper,
}

/// Passes the gradients on, and suggests a batch size for plain SGD with this learning rate:
/// `cabs.batch_size = learning_rate (mean_b ||g_b||^2 - ||mean g||^2) / loss`, in examples.
///
/// It reads the loss of the step, the extra `loss`: the mean over the batch, of a loss whose lowest value is about 0. The metric
/// is that of one batch, neither averaged over the steps nor rounded nor bounded; the authors do all three.
///
/// Its hyper-parameter is named `learning_rate`, without the link: with the same value it is that of
/// [`scale_by_learning_rate`](crate::scale_by_learning_rate()), and set together with it.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | B = 1, or all examples alike | 0, but for rounding |
/// | loss 0, with noise | infinite |
/// | loss 0, all examples zeros | 0 |
/// | loss below 0 | negative: it shows |
/// | a NaN or an infinity in one example | NaN |
///
/// # Errors
/// `learning_rate` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let program = program(&chain((monitor::cabs(0.1), sgd(0.1)))).unwrap();
/// assert_eq!(program.extras()[0].name, "loss");
/// assert_eq!(program.hypers().len(), 1);
/// ```
///
/// # Reference
/// Balles, Romero, Hennig, 2017, arXiv 1612.05086.
pub fn cabs(learning_rate: impl Into<Hyper>) -> Cabs {
    Cabs {
        learning_rate: learning_rate.into(),
    }
}

impl<In: ExamplesApart> Transform<In> for Cabs {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let hyper = self.learning_rate.or_named("learning_rate");
        let rate = cx.hyper("learning_rate", &hyper, Domain::NonNegative);
        let trace = trace_by_norms(&x.norm(), &x.mean().sq_norm(), 0, cx).max(0.0);
        cx.emit("batch_size", &(trace * rate).div_or_zero(cx.extra("loss")));
        x
    }
}
