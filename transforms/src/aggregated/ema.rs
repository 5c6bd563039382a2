//! An exponential moving average of the gradients.

use crate::axis::ExamplesReduced;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "ema",
    family: Family::Aggregated,
    summary: "m <- decay * m + (1 - decay) * g; m / (1 - decay^t)",
    reference: "",
    arguments: &[
        Argument::required("decay"),
        Argument::optional("debias", "true"),
        Argument::optional("nesterov", "false"),
        Argument::optional("init", "0"),
    ],
    build: |args| {
        let link = ema(args.hyper("decay")?)
            .debias(args.flag("debias")?.unwrap_or(true))
            .nesterov(args.flag("nesterov")?.unwrap_or(false))
            .init(args.number("init")?.unwrap_or(0.0));
        Ok(Link::aggregated(link))
    },
};

/// An exponential moving average of the gradients. Built by [`ema`].
#[derive(Clone, Debug)]
pub struct Ema {
    decay: Hyper,
    debias: bool,
    nesterov: bool,
    init: f64,
}

/// Averages the gradients over the steps: `m <- decay * m + (1 - decay) * g`, and gives out `m / (1 - decay^t)` at step t.
///
/// # State
/// `ema.moment`, in the shape of the parameters, 0 before the first step; kept in f32 for f16 and bf16 parameters.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | first step, debiased | the gradient |
/// | decay 0 | the gradient |
/// | decay a schedule | debiased by today's decay to the power t, which is exact for a constant decay only |
/// | decay 0.999 with f16 or bf16 gradients | right: decay and state are f32 or better |
///
/// # Errors
/// `decay` must be at least 0 and below 1, `init` finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), ema(0.9)))).is_ok());
/// assert!(program(&chain((mean(), ema(1.0)))).is_err());
/// ```
pub fn ema(decay: impl Into<Hyper>) -> Ema {
    Ema {
        decay: decay.into(),
        debias: true,
        nesterov: false,
        init: 0.0,
    }
}

impl Ema {
    /// Whether the average is divided by `1 - decay^t`, which makes up for its start at 0. True unless set.
    #[must_use]
    pub fn debias(mut self, debias: bool) -> Self {
        self.debias = debias;
        self
    }

    /// Whether the average looks one step ahead: `decay * m / (1 - decay^(t+1)) + (1 - decay) * g / (1 - decay^t)`.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }
}

impl Ema {
    /// What the average is before the first step; 0 unless set. The debiasing does not take it out.
    #[must_use]
    pub fn init(mut self, init: f64) -> Self {
        self.init = init;
        self
    }
}

impl<In: ExamplesReduced> Transform<In> for Ema {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let decay = cx.hyper("decay", &self.decay, Domain::Decay);
        let fresh = &x * (1.0 - &decay);
        let moment = cx.state_from("moment", self.init, |moment| moment * &decay + &fresh);
        let t = cx.step() + 1.0;
        let average = match (self.debias, self.nesterov) {
            (false, false) => moment,
            (true, false) => moment / (1.0 - decay.pow(t)),
            (false, true) => moment * &decay + fresh,
            (true, true) => {
                let ahead = moment * &decay / (1.0 - decay.pow(&t + 1.0));
                ahead + fresh / (1.0 - decay.pow(t))
            }
        };
        average.as_input()
    }
}
