//! The gradient with a look ahead by the last one.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_optimistic_gradient",
    family: Family::Aggregated,
    summary: "(alpha + beta) * g - beta * last g",
    reference: "Mokhtari et al., 2019, arXiv 1901.08511",
    arguments: &[
        Argument::optional("alpha", "1"),
        Argument::optional("beta", "1"),
    ],
    build: |args| {
        let mut link = scale_by_optimistic_gradient();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The gradient with a look ahead by the last one. Built by [`scale_by_optimistic_gradient`].
#[derive(Clone, Debug)]
pub struct ScaleByOptimisticGradient {
    pub(crate) alpha: Hyper,
    pub(crate) beta: Hyper,
}

/// Adds the difference to the last gradient: `alpha * g + beta * (g - last)`, where the first gradient is its own last one. Defaults:
/// alpha 1, beta 1.
///
/// # State
/// The last gradient, in the shape of the parameters.
///
/// # Errors
/// `alpha` and `beta` must be finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_optimistic_gradient()))).is_ok());
/// ```
///
/// # Reference
/// Mokhtari et al., 2019, arXiv 1901.08511.
pub fn scale_by_optimistic_gradient() -> ScaleByOptimisticGradient {
    ScaleByOptimisticGradient {
        alpha: 1.0.into(),
        beta: 1.0.into(),
    }
}

impl ScaleByOptimisticGradient {
    hyper_setters! {
        /// The weight of the gradient.
        alpha;
        /// The weight of its difference to the last one.
        beta;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("alpha", &mut self.alpha)?;
        args.set_hyper("beta", &mut self.beta)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByOptimisticGradient {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let alpha = cx.hyper("alpha", &self.alpha.or_named("alpha"), Domain::Finite);
        let beta = cx.hyper("beta", &self.beta.or_named("beta"), Domain::Finite);
        let last = cx.slot::<Leaf>("last", 0.0);
        let before = cx.step().equal(0.0).select(&x, last.before());
        cx.set(last, &x);
        (x * (alpha + &beta) - before * beta).as_input()
    }
}
