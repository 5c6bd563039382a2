//! Steps that are skipped while the gradients are not finite, up to a number of times.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::extent::Global;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "apply_if_finite",
    family: Family::Wrapper,
    summary: "the links if g is finite or was not too often in a row, else 0 and no step",
    reference: "",
    arguments: &[
        Argument::required("links"),
        Argument::required("max_consecutive_errors"),
    ],
    build: |args| {
        Ok(Link::aggregated(apply_if_finite(
            args.aggregated_links("links")?,
            args.hyper("max_consecutive_errors")?,
        )))
    },
};

/// Steps that are skipped while the gradients are not finite. Built by [`apply_if_finite`].
#[derive(Clone, Debug)]
pub struct ApplyIfFinite<T> {
    inner: T,
    max_consecutive_errors: Hyper,
}

/// Applies `inner` if every element of the gradient is finite. Else the updates are zero and `inner` takes no step: its moments and
/// counts, and so its debiasing, are what they would be without this gradient.
///
/// After `max_consecutive_errors` such gradients in a row the next is let through, so that a model that is lost does not pass for
/// one that learns. [`skip_not_finite`](crate::skip_not_finite) never lets one through.
///
/// # State
/// `apply_if_finite.consecutive` and `.total` count the gradients that were not finite. The metrics of these names give them too.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | finite | `inner`, and `consecutive` is 0 again |
/// | with a NaN or an infinity | zeros; no bit of the state of `inner` changes |
/// | the `max_consecutive_errors + 1`st of these in a row | `inner`, with what the NaN makes of it |
///
/// # Errors
/// `max_consecutive_errors` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), apply_if_finite(adam(1e-3), 5)))).is_ok());
/// ```
pub fn apply_if_finite<T>(inner: T, max_consecutive_errors: impl Into<Hyper>) -> ApplyIfFinite<T> {
    ApplyIfFinite {
        inner,
        max_consecutive_errors: max_consecutive_errors.into(),
    }
}

impl<In, T> Transform<In> for ApplyIfFinite<T>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let most = &self.max_consecutive_errors;
        let most = cx.hyper("max_consecutive_errors", most, Domain::NonNegative);
        let finite = x.all_finite();
        let consecutive =
            cx.state::<Global>("consecutive", 0.0, |count| finite.select(0.0, count + 1.0));
        let total = cx.state::<Global>("total", 0.0, |count| count + finite.negate().as_number());
        cx.emit("consecutive", &consecutive);
        cx.emit("total", &total);
        let applied = finite.or(&consecutive.gt(most));
        let inner = cx.guarded(&applied, |cx| cx.apply(&self.inner, x));
        inner.keep_where(&applied, 0.0).as_input()
    }
}
