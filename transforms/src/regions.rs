//! What a combinator can ask of a [`Tracer`] for the links inside it: that they see some leaves only, that their state is kept or
//! given up, that they see all leaves as one, or other parameters.

use crate::axis::Aggregated;
use crate::extent::{Global, Leaf};
use crate::leaves::Leaves;
use crate::program::When;
use crate::tracer::{StateSlot, Tracer};
use crate::value::{Predicate, Value};

impl Tracer {
    /// Traces links that see only `leaves`: their reductions over leaves leave out the others, in which they have no state and
    /// their metrics are 0.
    ///
    /// What they compute in the other leaves is of no use: [`choose`](Self::choose) between it and something else.
    pub fn within<R>(&mut self, leaves: &Leaves, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.graph.borrow_mut().enter_leaves(leaves);
        let out = inside(self);
        self.graph.borrow_mut().exit_leaves();
        out
    }

    /// Traces links that take a step only if `predicate` holds; else every piece of state inside keeps its value, to the last bit
    /// and whatever was computed from a NaN.
    ///
    /// The links inside count the steps that they take: [`step`](Self::step) does, and a schedule inside is evaluated at that
    /// count. Their values are computed all the same: `select` between them and something else.
    ///
    /// # Example
    /// A link that rests while the gradient is zero.
    /// ```
    /// use pergrad_transforms::Aggregated;
    /// use pergrad_transforms::prelude::*;
    ///
    /// #[derive(Clone, Debug)]
    /// struct Awake<T>(T);
    ///
    /// impl<T: Transform<Aggregated, Out = Aggregated>> Transform<Aggregated> for Awake<T> {
    ///     type Out = Aggregated;
    ///     fn trace(&self, x: Value<Aggregated>, cx: &mut Tracer) -> Value<Aggregated> {
    ///         let awake = x.norm().gt(0.0);
    ///         let step = cx.guarded(&awake, |cx| cx.apply(&self.0, x));
    ///         step.keep_where(&awake, 0.0)
    ///     }
    /// }
    ///
    /// let program = program(&chain((mean(), Awake(ema(0.9))))).unwrap();
    /// assert_eq!(program.slots()[0].name, "awake.steps");
    /// ```
    ///
    /// # Host and device
    /// A predicate that depends on counters and hyper-parameters only is known to the host, and so is the count. A predicate of
    /// the gradients stays where they are. Then a debiasing such as `1 - decay^t` is computed there too, in f32 for parameters of
    /// f32: for decay 0.999 it is off by 1.3e-5 at the first step, and the count stays at 2^24. And a schedule
    /// or noise inside such a guard makes each step read one number back, so put it outside where you can.
    pub fn guarded<R>(
        &mut self,
        predicate: &Predicate<Aggregated, Global>,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.region(When::Kept, predicate, None, inside)
    }

    /// [`guarded`](Self::guarded), with a count of the link's own: it must grow by 1 when the predicate holds, and stay else.
    pub fn guarded_by<R>(
        &mut self,
        predicate: &Predicate<Aggregated, Global>,
        count: &StateSlot<Global>,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.region(When::Kept, predicate, Some(count.slot), inside)
    }

    /// Traces links whose state, and count of steps, is what it was at the beginning after each step for which `predicate` holds.
    pub fn resetting<R>(
        &mut self,
        predicate: &Predicate<Aggregated, Global>,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.region(When::Reset, predicate, None, inside)
    }

    fn region<R>(
        &mut self,
        when: When,
        predicate: &Predicate<Aggregated, Global>,
        count: Option<u32>,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let predicate = predicate.node_of(&self.graph);
        self.graph.borrow_mut().enter_region(when, predicate, count);
        let out = inside(self);
        self.graph.borrow_mut().exit_region();
        out
    }

    /// Traces links that see all leaves as one: what they do for each leaf, they do for the whole.
    pub fn flattened<R>(&mut self, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.graph.borrow_mut().enter_flattened();
        let out = inside(self);
        self.graph.borrow_mut().exit_flattened();
        out
    }

    /// Traces links for which [`params`](Self::params) are these.
    pub fn with_params<R>(
        &mut self,
        params: &Value<Aggregated, Leaf>,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let params = params.node_of(&self.graph);
        self.graph.borrow_mut().enter_params(params);
        let out = inside(self);
        self.graph.borrow_mut().exit_params();
        out
    }
}
