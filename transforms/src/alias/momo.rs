//! MoMo: SGD with momentum, with a step that the loss limits.

use crate::aggregated::moments::{average, dot};
use crate::axis::{Aggregated, Axis};
use crate::error::Error;
use crate::extent::Global;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::over_examples::batch_mean;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "momo",
    family: Family::Alias,
    summary: "SGD with momentum; step min(learning_rate, (loss - lower_bound - ...) / ||m||^2)",
    reference: "Schaipp et al., 2023, arXiv 2305.07583",
    arguments: &[
        Argument::optional("learning_rate", "1"),
        Argument::optional("beta", "0.9"),
        Argument::optional("lower_bound", "0"),
        Argument::optional("weight_decay", "0"),
        Argument::optional("adapt_lower_bound", "false"),
    ],
    build: |args| {
        let mut link = momo();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// MoMo: SGD with momentum, with a step that the loss limits. Built by [`momo`].
#[derive(Clone, Debug)]
pub struct Momo {
    learning_rate: Hyper,
    beta: Hyper,
    lower_bound: Hyper,
    weight_decay: Hyper,
    adapt_lower_bound: bool,
}

/// SGD with momentum whose step is the one that would bring the averaged line down to the smallest loss, at most `learning_rate`:
/// `min(learning_rate, max(f - lower_bound - c + m . p, 0) / ||m||^2)`, where `m`, `f` and `c` are averages of the gradients, the
/// losses and `g . p` that begin with their first values.
///
/// It reads the loss of the step, the extra `loss`.
///
/// Defaults are optax's: learning_rate 1, beta 0.9, lower_bound 0, weight_decay 0.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | squared norm of the average at most 2.2e-16 | the decay only |
/// | loss below `lower_bound` | the decay only |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(optimizer_program(&momo()).is_ok());
/// ```
///
/// # Reference
/// Schaipp et al., 2023, arXiv 2305.07583.
pub fn momo() -> Momo {
    Momo {
        learning_rate: 1.0.into(),
        beta: 0.9.into(),
        lower_bound: 0.0.into(),
        weight_decay: 0.0.into(),
        adapt_lower_bound: false,
    }
}

impl Momo {
    hyper_setters! {
        /// The largest step size.
        learning_rate;
        /// The decay of the averages.
        beta;
        /// The smallest loss there can be.
        lower_bound;
        /// The strength of the weight decay.
        weight_decay;
    }

    /// Whether the smallest loss is estimated, beginning with `lower_bound`.
    #[must_use]
    pub fn adapt_lower_bound(mut self, adapt_lower_bound: bool) -> Self {
        self.adapt_lower_bound = adapt_lower_bound;
        self
    }

    /// Takes what a specification says.
    fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("learning_rate", &mut self.learning_rate)?;
        args.set_hyper("beta", &mut self.beta)?;
        args.set_hyper("lower_bound", &mut self.lower_bound)?;
        args.set_hyper("weight_decay", &mut self.weight_decay)?;
        self.adapt_lower_bound = args
            .flag("adapt_lower_bound")?
            .unwrap_or(self.adapt_lower_bound);
        Ok(())
    }
}

impl<In: Axis> Transform<In> for Momo {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = cx.apply(&batch_mean(), x);
        let hyper =
            |name: &str, value: &Hyper, domain| cx.hyper(name, &value.or_named(name), domain);
        let rate = hyper("learning_rate", &self.learning_rate, Domain::NonNegative);
        let decay = hyper("weight_decay", &self.weight_decay, Domain::NonNegative) * &rate;
        let lowest = hyper("lower_bound", &self.lower_bound, Domain::Finite);
        let beta = hyper("beta", &self.beta, Domain::Decay);
        let beta = cx.step().equal(0.0).select(0.0, beta);
        let fresh = 1.0 - &beta;
        let params = cx.params();

        let first = average(cx, "first", &beta, &x);
        let given = cx.extra("loss") * &fresh;
        let loss = cx.state::<Global>("loss", 0.0, |loss| loss * &beta + given);
        let given = dot(&x, &params) * fresh;
        let lean = cx.state::<Global>("lean", 0.0, |lean| lean * beta + given);
        let size = first.sq_norm();

        let shrink = decay + 1.0;
        let along = dot(&first, &params);
        let bound = cx.slot::<Global>("bound", 0.0);
        let begin = cx.step().equal(0.0).select(&lowest, bound.before());
        let room = (&loss - &lean) * &shrink + &along;
        let floor = begin.clone();
        let below = room.lt(&shrink * &floor);
        let reset = (&room / (&shrink * 2.0)).max(&lowest);
        let known = if self.adapt_lower_bound {
            below.select(reset, begin)
        } else {
            begin
        };
        let gap = (&loss - &known - &lean) * &shrink + &along;
        let exact = size.le(f64::EPSILON).select(0.0, gap.max(0.0) / &size);
        let step = rate.min(exact);
        let reached = loss + along - lean - &step * size * 0.5;
        let next = if self.adapt_lower_bound {
            reached.max(lowest)
        } else {
            known
        };
        cx.set(bound, &next);
        let kept = params * (1.0 / shrink - 1.0);
        kept - first * step
    }
}
