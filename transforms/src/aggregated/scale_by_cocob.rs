//! Coin betting.

use super::moments::start;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_cocob",
    family: Family::Aggregated,
    summary: "p_0 + C / (L max(G + L, alpha L)) (L + R) - p",
    reference: "Orabona and Tommasi, 2017, arXiv 1705.07795",
    arguments: &[
        Argument::optional("alpha", "100"),
        Argument::optional("eps", "1e-8"),
    ],
    build: |args| {
        let mut link = scale_by_cocob();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Coin betting. Built by [`scale_by_cocob`].
#[derive(Clone, Debug)]
pub struct ScaleByCocob {
    pub(crate) alpha: Hyper,
    pub(crate) eps: Hyper,
}

/// Bets on each coordinate: with `L` the largest gradient so far, `G` the sum of sizes, `C` the sum of the negative gradients and `R`
/// the reward `max(R - g (p - p_0), 0)`, the parameter becomes `p_0 + C / (L max(G + L, alpha L)) (L + R)`.
///
/// The result is the whole update, with its sign: no learning rate comes after it. Defaults: alpha 100, eps 1e-8.
///
/// # State
/// Five pieces in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros from the first step | zeros, also for eps 0 |
///
/// # Errors
/// `alpha` and `eps` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_cocob()))).is_ok());
/// ```
///
/// # Reference
/// Orabona, Tommasi, 2017, arXiv 1705.07795.
pub fn scale_by_cocob() -> ScaleByCocob {
    ScaleByCocob {
        alpha: 100.0.into(),
        eps: 1e-8.into(),
    }
}

impl ScaleByCocob {
    hyper_setters! {
        /// How much is kept back in the first bets.
        alpha;
        /// The smallest largest gradient.
        eps;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("alpha", &mut self.alpha)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByCocob {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let alpha = cx.hyper("alpha", &self.alpha.or_named("alpha"), Domain::NonNegative);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let (params, start) = (cx.params(), start(cx));
        let size = x.abs();
        let largest = cx.state::<Leaf>("largest", 0.0, |l| l.max(&size).max(eps));
        let sizes = cx.state::<Leaf>("sizes", 0.0, |sum| sum + size);
        let gain = &x * (&params - &start);
        let reward = cx.state::<Leaf>("reward", 0.0, |r| (r - gain).max(0.0));
        let sum = cx.state::<Leaf>("sum", 0.0, |sum| sum - x);
        let stake = (sizes + &largest).max(&largest * alpha) * &largest;
        let bet = sum.div_or_zero(stake) * (largest + reward);
        (start - params + bet).as_input()
    }
}
