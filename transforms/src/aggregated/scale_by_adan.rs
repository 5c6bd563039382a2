//! Adan's preconditioner.

use crate::aggregated::ema;
use crate::axis::ExamplesReduced;
use crate::combine::chain;
use crate::elementwise::square;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_adan",
    family: Family::Aggregated,
    summary: "(ema(g) + (1 - b2) ema(d)) / (sqrt(ema((g + (1 - b2) d)^2)) + eps), d = g - last g",
    reference: "Xie et al., 2022, arXiv 2208.06677",
    arguments: &[
        Argument::optional("b1", "0.98"),
        Argument::optional("b2", "0.92"),
        Argument::optional("b3", "0.99"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
    ],
    build: |args| {
        let mut link = scale_by_adan();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Adan's preconditioner. Built by [`scale_by_adan`].
#[derive(Clone, Debug)]
pub struct ScaleByAdan {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) b3: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
}

/// Adam with a look ahead by the difference `d` of the gradient to the last one, which is 0 at the first step:
/// `(ema(g, b1) + (1 - b2) ema(d, b2)) / (sqrt(ema((g + (1 - b2) d)^2, b3) + eps_root) + eps)`, all averages debiased.
///
/// Defaults: b1 0.98, b2 0.92, b3 0.99, eps 1e-8, eps_root 0.
///
/// # State
/// Three averages and the last gradient, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1`, `b2` and `b3` must be at least 0 and below 1, `eps` and `eps_root` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_adan()))).is_ok());
/// ```
///
/// # Reference
/// Xie et al., 2022, arXiv 2208.06677.
pub fn scale_by_adan() -> ScaleByAdan {
    ScaleByAdan {
        b1: 0.98.into(),
        b2: 0.92.into(),
        b3: 0.99.into(),
        eps: 1e-8.into(),
        eps_root: 0.0.into(),
    }
}

impl ScaleByAdan {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the differences of gradients.
        b2;
        /// The decay of the average of the squares.
        b3;
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
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAdan {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Decay);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let eps_root = cx.hyper(
            "eps_root",
            &self.eps_root.or_named("eps_root"),
            Domain::NonNegative,
        );
        let last = cx.slot::<Leaf>("last", 0.0);
        let change = cx.step().equal(0.0).select(0.0, &x - last.before());
        cx.set(last, &x);
        let ahead = &x + &change * (1.0 - &b2);
        let first = cx.apply(&ema(self.b1.or_named("b1")), x);
        let drift = cx.apply(&ema(self.b2.or_named("b2")), change);
        let squares = chain((square(), ema(self.b3.or_named("b3"))));
        let root = (cx.apply(&squares, ahead) + eps_root).sqrt() + eps;
        (first + drift * (1.0 - b2)).div_or_zero(root).as_input()
    }
}
