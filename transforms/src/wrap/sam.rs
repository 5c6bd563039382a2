//! Gradients from where the loss is worst nearby.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "sam",
    family: Family::Wrapper,
    summary: "at every sync_period-th step back to where it began and the links, else against the adversary's update",
    reference: "Foret et al., 2020, arXiv 2010.01412",
    arguments: &[
        Argument::required("links"),
        Argument::required("adversary"),
        Argument::optional("sync_period", "2"),
        Argument::optional("reset_state", "true"),
    ],
    build: |args| {
        let link = sam(
            args.aggregated_links("links")?,
            args.aggregated_links("adversary")?,
        );
        let period = args.optional_hyper("sync_period")?;
        let reset = args.flag("reset_state")?.unwrap_or(true);
        let link = link.sync_period(period.unwrap_or(2.0.into()));
        Ok(Link::aggregated(link.reset_state(reset)))
    },
};

/// Gradients from where the loss is worst nearby. Built by [`sam`].
#[derive(Clone, Debug)]
pub struct Sam<T, Adversary> {
    inner: T,
    adversary: Adversary,
    sync_period: Hyper,
    reset_state: bool,
}

/// Sharpness-aware minimization, a part to each step: the first `sync_period - 1` steps move the parameters *against* the updates of
/// `adversary`, uphill; the last one takes them back to where they began and adds the update that `inner` makes of the gradient
/// uphill.
///
/// The gradients of all these steps are of one batch, or of several: the caller decides. Between them the parameters of the model
/// are not those that are trained; a model with statistics of its batches sees those uphill too. Sharpness-aware steps that are
/// whole inside need the loss and are no chain.
///
/// The classic adversary is gradient descent on a gradient of unit length, with the radius as its learning rate.
///
/// # State
/// `sam.start`, in the shape of the parameters: those of the last step that was not uphill. `sam.count`.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `sync_period` 1 | `inner`; the adversary never acts |
///
/// # Errors
/// `sync_period` must be a whole number of at least 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), sam(sgd(0.1).momentum(0.9), sgd(0.05))))).is_ok());
/// ```
///
/// # Reference
/// Foret, Kleiner, Mobahi, Neyshabur, 2020, arXiv 2010.01412, algorithm 1.
pub fn sam<T, Adversary>(inner: T, adversary: Adversary) -> Sam<T, Adversary> {
    Sam {
        inner,
        adversary,
        sync_period: 2.0.into(),
        reset_state: true,
    }
}

impl<T, Adversary> Sam<T, Adversary> {
    /// How many steps there are to one of `inner`; 2 unless set.
    #[must_use]
    pub fn sync_period(mut self, period: impl Into<Hyper>) -> Self {
        self.sync_period = period.into();
        self
    }

    /// Whether the adversary begins anew after each step of `inner`. True unless set.
    #[must_use]
    pub fn reset_state(mut self, reset: bool) -> Self {
        self.reset_state = reset;
        self
    }
}

impl<In, T, Adversary> Transform<In> for Sam<T, Adversary>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
    Adversary: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let period = cx.hyper("sync_period", &self.sync_period, Domain::Count);
        let count = cx.slot::<Global>("count", 0.0);
        let (at, next) = (count.before(), count.before() + 1.0);
        let last = next.ge(period);
        cx.set(count, &last.select(0.0, next));
        let params = cx.params();
        let start = cx.state::<Leaf>("start", 0.0, |start| at.equal(0.0).select(&params, start));

        let (uphill, inside) = (last.negate(), x.clone());
        let against = if self.reset_state {
            cx.resetting(&last, |cx| cx.apply(&self.adversary, inside))
        } else {
            cx.guarded(&uphill, |cx| cx.apply(&self.adversary, inside))
        };
        let step = cx.guarded(&last, |cx| {
            cx.with_params(&start, |cx| cx.apply(&self.inner, x))
        });
        let back = &start - params;
        last.select(back + step, -against).as_input()
    }
}
