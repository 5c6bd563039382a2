//! ADOPT's preconditioner.

use super::moments::average;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_adopt",
    family: Family::Aggregated,
    summary: "ema(clip(g / max(sqrt(last v), eps), t^0.25), b1); v <- ema(g^2, b2)",
    reference: "Taniguchi et al., 2024, arXiv 2411.02853",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.9999"),
        Argument::optional("eps", "1e-6"),
        Argument::optional("nesterov", "false"),
        Argument::optional("use_clipping", "true"),
    ],
    build: |args| {
        let mut link = scale_by_adopt();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// ADOPT's preconditioner. Built by [`scale_by_adopt`].
#[derive(Clone, Debug)]
pub struct ScaleByAdopt {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    nesterov: bool,
    use_clipping: bool,
}

/// Adam whose second moment is that of the step before, so that it does not know the gradient it divides, and whose average comes
/// after the division. The first step only begins the second moment, and its update is zero.
///
/// Defaults: b1 0.9, b2 0.9999, eps 1e-6, clipped to `t^0.25` where t is the number of steps before.
///
/// # State
/// Two averages, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1` and `b2` must be at least 0 and below 1, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_adopt()))).is_ok());
/// ```
///
/// # Reference
/// Taniguchi et al., 2024, arXiv 2411.02853.
pub fn scale_by_adopt() -> ScaleByAdopt {
    ScaleByAdopt {
        b1: 0.9.into(),
        b2: 0.9999.into(),
        eps: 1e-6.into(),
        nesterov: false,
        use_clipping: true,
    }
}

impl ScaleByAdopt {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// The smallest root.
        eps;
    }

    /// Whether the average looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Whether each element is clipped to the fourth root of the number of steps before.
    #[must_use]
    pub fn use_clipping(mut self, use_clipping: bool) -> Self {
        self.use_clipping = use_clipping;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        self.use_clipping = args.flag("use_clipping")?.unwrap_or(self.use_clipping);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAdopt {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b1 = cx.hyper("b1", &self.b1.or_named("b1"), Domain::Decay);
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Decay);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let first = cx.step().equal(0.0);
        let (b1, b2) = (first.select(1.0, b1), first.select(0.0, b2));
        let squares = cx.slot::<Leaf>("squares", 0.0);
        let root = squares.before().sqrt().max(eps);
        let next = squares.before() * &b2 + x.square() * (1.0 - b2);
        cx.set(squares, &next);
        let mut scaled = x.div_or_zero(root);
        if self.use_clipping {
            let bound = cx.step().pow(0.25);
            scaled = scaled.max(-&bound).min(bound);
        }
        let moment = average(cx, "moment", &b1, &scaled);
        if self.nesterov {
            (moment * &b1 + scaled * (1.0 - b1)).as_input()
        } else {
            moment.as_input()
        }
    }
}
