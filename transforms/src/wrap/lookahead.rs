//! Slow parameters that follow the fast ones, and pull them back.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "lookahead",
    family: Family::Wrapper,
    summary: "at every sync_period-th step s <- s + slow_step_size * (p - s) and p <- s, else the links",
    reference: "Zhang et al., 2019, arXiv 1907.08610",
    arguments: &[
        Argument::required("links"),
        Argument::required("sync_period"),
        Argument::required("slow_step_size"),
        Argument::optional("reset_state", "false"),
    ],
    build: |args| {
        let link = lookahead(
            args.aggregated_links("links")?,
            args.hyper("sync_period")?,
            args.hyper("slow_step_size")?,
        );
        let reset = args.flag("reset_state")?.unwrap_or(false);
        Ok(Link::aggregated(link.reset_state(reset)))
    },
};

/// Slow parameters that follow the fast ones. Built by [`lookahead`].
#[derive(Clone, Debug)]
pub struct Lookahead<T> {
    inner: T,
    sync_period: Hyper,
    slow_step_size: Hyper,
    reset_state: bool,
}

/// Lets `inner` move the parameters, and at every `sync_period`-th step sets them to slow ones that have come part of the way:
/// `s <- s + slow_step_size * (p + u - s)`, and the update is the one that leads from `p` to the new `s`.
///
/// The parameters of the model are the fast ones. The slow ones are state; they are the ones to evaluate with.
///
/// # State
/// `lookahead.slow`, in the shape of the parameters: the parameters at the first step. `lookahead.count`.
///
/// # Errors
/// `sync_period` must be a whole number of at least 1, `slow_step_size` from 0 to 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), lookahead(adam(1e-3), 6, 0.5)))).is_ok());
/// ```
///
/// # Reference
/// Zhang, Lucas, Hinton, Ba, 2019, arXiv 1907.08610, algorithm 1.
pub fn lookahead<T>(
    inner: T,
    sync_period: impl Into<Hyper>,
    slow_step_size: impl Into<Hyper>,
) -> Lookahead<T> {
    Lookahead {
        inner,
        sync_period: sync_period.into(),
        slow_step_size: slow_step_size.into(),
        reset_state: false,
    }
}

impl<T> Lookahead<T> {
    /// Whether `inner` begins anew, counts included, whenever the slow parameters have moved. False unless set.
    #[must_use]
    pub fn reset_state(mut self, reset: bool) -> Self {
        self.reset_state = reset;
        self
    }
}

impl<In, T> Transform<In> for Lookahead<T>
where
    In: ExamplesReduced,
    T: Transform<Aggregated, Out = Aggregated>,
{
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let period = cx.hyper("sync_period", &self.sync_period, Domain::Count);
        let share = cx.hyper("slow_step_size", &self.slow_step_size, Domain::Share);
        let count = cx.slot::<Global>("count", 0.0);
        let next = count.before() + 1.0;
        let sync = next.ge(period);
        cx.set(count, &sync.select(0.0, next));
        let slow = cx.slot::<Leaf>("slow", 0.0);

        let fast = if self.reset_state {
            cx.resetting(&sync, |cx| cx.apply(&self.inner, x))
        } else {
            cx.apply(&self.inner, x)
        };
        let before = cx.step().equal(0.0).select(cx.params(), slow.before());
        let ahead = cx.params() + &fast - &before;
        let moved = &before + &ahead * &share;
        let back = &fast - ahead * (1.0 - share);
        cx.set(slow, &sync.select(moved, before));
        sync.select(back, fast).as_input()
    }
}
