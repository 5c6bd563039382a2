//! MoMo-Adam: Adam with a step that the loss limits.

use crate::aggregated::moments::{average, debiased, dot};
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
    name: "momo_adam",
    family: Family::Alias,
    summary: "Adam; step min(learning_rate, (loss - lower_bound - ...) / ||m||^2)",
    reference: "Schaipp et al., 2023, arXiv 2305.07583",
    arguments: &[
        Argument::optional("learning_rate", "0.01"),
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("lower_bound", "0"),
        Argument::optional("weight_decay", "0"),
        Argument::optional("adapt_lower_bound", "false"),
    ],
    build: |args| {
        let mut link = momo_adam();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// MoMo-Adam: Adam with a step that the loss limits. Built by [`momo_adam`].
#[derive(Clone, Debug)]
pub struct MomoAdam {
    learning_rate: Hyper,
    b1: Hyper,
    b2: Hyper,
    eps: Hyper,
    lower_bound: Hyper,
    weight_decay: Hyper,
    adapt_lower_bound: bool,
}

/// Adam whose step is the one that would bring the averaged line down to the smallest loss, at most `learning_rate`: as
/// [`momo`](crate::momo), with the norm of Adam's denominator and averages that begin with 0.
///
/// It reads the loss of the step, the extra `loss`.
///
/// Defaults are optax's: learning_rate 0.01, b1 0.9, b2 0.999, eps 1e-8, lower_bound 0, weight_decay 0.
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
/// assert!(optimizer_program(&momo_adam()).is_ok());
/// ```
///
/// # Reference
/// Schaipp et al., 2023, arXiv 2305.07583.
pub fn momo_adam() -> MomoAdam {
    MomoAdam {
        learning_rate: 0.01.into(),
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
        lower_bound: 0.0.into(),
        weight_decay: 0.0.into(),
        adapt_lower_bound: false,
    }
}

impl MomoAdam {
    hyper_setters! {
        /// The largest step size.
        learning_rate;
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// A number added to the root.
        eps;
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
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("lower_bound", &mut self.lower_bound)?;
        args.set_hyper("weight_decay", &mut self.weight_decay)?;
        self.adapt_lower_bound = args
            .flag("adapt_lower_bound")?
            .unwrap_or(self.adapt_lower_bound);
        Ok(())
    }
}

impl<In: Axis> Transform<In> for MomoAdam {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = cx.apply(&batch_mean(), x);
        let hyper =
            |name: &str, value: &Hyper, domain| cx.hyper(name, &value.or_named(name), domain);
        let rate = hyper("learning_rate", &self.learning_rate, Domain::NonNegative);
        let decay = hyper("weight_decay", &self.weight_decay, Domain::NonNegative) * &rate;
        let lowest = hyper("lower_bound", &self.lower_bound, Domain::Finite);
        let (b1, b2) = (
            hyper("b1", &self.b1, Domain::Decay),
            hyper("b2", &self.b2, Domain::Decay),
        );
        let eps = hyper("eps", &self.eps, Domain::NonNegative);
        let fresh = 1.0 - &b1;
        let unbias = 1.0 - b1.pow(cx.step() + 1.0);
        let params = cx.params();

        let first = average(cx, "first", &b1, &x);
        let second = average(cx, "second", &b2, &x.square());
        let direction = first.div_or_zero(debiased(cx, &second, &b2).sqrt() + eps);
        let given = cx.extra("loss") * &fresh;
        let loss = cx.state::<Global>("loss", 0.0, |loss| loss * &b1 + given);
        let given = dot(&x, &params) * fresh;
        let lean = cx.state::<Global>("lean", 0.0, |lean| lean * b1 + given);
        let size = dot(&first, &direction);

        let shrink = decay + 1.0;
        let along = dot(&first, &params);
        let bound = cx.slot::<Global>("bound", 0.0);
        let begin = cx.step().equal(0.0).select(&lowest, bound.before());
        let room = (&loss - &lean) * &shrink + &along;
        let floor = &begin * &unbias;
        let below = room.lt(&shrink * &floor);
        let reset = (&room / (&shrink * 2.0 * &unbias)).max(&lowest);
        let known = if self.adapt_lower_bound {
            below.select(reset, begin)
        } else {
            begin
        };
        let gap = (&loss - &known * &unbias - &lean) * &shrink + &along;
        let exact = size.le(f64::EPSILON).select(0.0, gap.max(0.0) / &size);
        let step = (&rate / &unbias).min(exact);
        let reached = loss + along - lean - &step * size * 0.5;
        let next = if self.adapt_lower_bound {
            (reached / unbias).max(lowest)
        } else {
            known
        };
        cx.set(bound, &next);
        let kept = params * (1.0 / shrink - 1.0);
        kept - direction * step
    }
}
