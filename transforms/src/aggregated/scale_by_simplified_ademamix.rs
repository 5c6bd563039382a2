//! Simplified AdEMAMix's preconditioner.

use crate::aggregated::{ema, trace};
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
    name: "scale_by_simplified_ademamix",
    family: Family::Aggregated,
    summary: "(trace(g, b1) + alpha * g) / (sqrt(ema(g^2, b2) + eps_root) + eps)",
    reference: "Morwani et al., 2025, arXiv 2502.02431",
    arguments: &[
        Argument::optional("b1", "0.99"),
        Argument::optional("b2", "0.95"),
        Argument::optional("alpha", "0"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
    ],
    build: |args| {
        let mut link = scale_by_simplified_ademamix();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Simplified AdEMAMix's preconditioner. Built by [`scale_by_simplified_ademamix`].
#[derive(Clone, Debug)]
pub struct ScaleBySimplifiedAdemamix {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) alpha: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
}

/// Adam with a fading *sum* of the gradients, as [`trace`](crate::trace), and the gradient itself beside it.
///
/// Defaults: b1 0.99, b2 0.95, alpha 0, eps 1e-8, eps_root 0.
///
/// # State
/// A sum and an average, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1` must be from 0 to 1, `b2` at least 0 and below 1, `alpha` finite, `eps` and `eps_root` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_simplified_ademamix()))).is_ok());
/// ```
///
/// # Reference
/// Morwani et al., 2025, arXiv 2502.02431.
pub fn scale_by_simplified_ademamix() -> ScaleBySimplifiedAdemamix {
    ScaleBySimplifiedAdemamix {
        b1: 0.99.into(),
        b2: 0.95.into(),
        alpha: 0.0.into(),
        eps: 1e-8.into(),
        eps_root: 0.0.into(),
    }
}

impl ScaleBySimplifiedAdemamix {
    hyper_setters! {
        /// The decay of the sum of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// The weight of the gradient beside the sum.
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
        args.set_hyper("alpha", &mut self.alpha)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleBySimplifiedAdemamix {
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
        let sum = cx.apply(&trace(self.b1.or_named("b1")), x.clone());
        let second = chain((square(), ema(self.b2.or_named("b2"))));
        let root = (cx.apply(&second, x.clone()) + eps_root).sqrt() + eps;
        (sum + x * alpha).div_or_zero(root).as_input()
    }
}
