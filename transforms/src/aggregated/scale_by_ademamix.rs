//! AdEMAMix's preconditioner.

use crate::aggregated::ema;
use crate::axis::ExamplesReduced;
use crate::combine::chain;
use crate::elementwise::square;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_ademamix",
    family: Family::Aggregated,
    summary: "(ema(g, b1) + alpha * slow ema(g, b3)) / (sqrt(ema(g^2, b2) + eps_root) + eps)",
    reference: "Pagliardini et al., 2024, arXiv 2409.03137",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("b3", "0.9999"),
        Argument::optional("alpha", "6"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
    ],
    build: |args| {
        let mut link = scale_by_ademamix();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// AdEMAMix's preconditioner. Built by [`scale_by_ademamix`].
#[derive(Clone, Debug)]
pub struct ScaleByAdemamix {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) b3: Hyper,
    pub(crate) alpha: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
}

/// Adam with a second, much slower average of the gradients beside the first, which is not debiased.
///
/// Defaults: b1 0.9, b2 0.999, b3 0.9999, alpha 6 (the optimizer [`ademamix`](crate::ademamix) has 5), eps 1e-8, eps_root 0. `b3` and
/// `alpha` are most often schedules.
///
/// # State
/// Three averages, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1`, `b2` and `b3` must be at least 0 and below 1, `alpha` finite, `eps` and `eps_root` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_ademamix()))).is_ok());
/// ```
///
/// # Reference
/// Pagliardini et al., 2024, arXiv 2409.03137.
pub fn scale_by_ademamix() -> ScaleByAdemamix {
    ScaleByAdemamix {
        b1: 0.9.into(),
        b2: 0.999.into(),
        b3: 0.9999.into(),
        alpha: 6.0.into(),
        eps: 1e-8.into(),
        eps_root: 0.0.into(),
    }
}

impl ScaleByAdemamix {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// The decay of the slow average.
        b3;
        /// The weight of the slow average.
        alpha;
        /// A number added to the root.
        eps;
        /// A number added under the root.
        eps_root;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("b3", &mut self.b3)?;
        args.set_hyper("alpha", &mut self.alpha)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAdemamix {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let alpha = cx.hyper("alpha", &self.alpha.or_named("alpha"), Domain::Finite);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let eps_root = cx.hyper(
            "eps_root",
            &self.eps_root.or_named("eps_root"),
            Domain::NonNegative,
        );
        let fast = cx.apply(&ema(self.b1.or_named("b1")), x.clone());
        let slow = cx.apply(&ema(self.b3.or_named("b3")).debias(false), x.clone());
        let second = chain((square(), ema(self.b2.or_named("b2"))));
        let root = (cx.apply(&second, x) + eps_root).sqrt() + eps;
        (fast + slow * alpha).div_or_zero(root).as_input()
    }
}
