//! The trust ratio of LARS and LAMB.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_trust_ratio",
    family: Family::Aggregated,
    summary: "g * trust_coefficient * ||p|| / (||g|| + eps), leaf by leaf",
    reference: "You et al., 2017, arXiv 1708.03888",
    arguments: &[
        Argument::optional("min_norm", "0"),
        Argument::optional("trust_coefficient", "1"),
        Argument::optional("eps", "0"),
        Argument::optional("mask", "all"),
    ],
    build: |args| {
        let mut link = scale_by_trust_ratio();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The trust ratio of LARS and LAMB. Built by [`scale_by_trust_ratio`].
#[derive(Clone, Debug)]
pub struct ScaleByTrustRatio {
    pub(crate) min_norm: Hyper,
    pub(crate) trust_coefficient: Hyper,
    pub(crate) eps: Hyper,
    mask: Leaves,
}

/// Multiplies each leaf's gradient by `trust_coefficient * ||p|| / (||g|| + eps)`, so that it has the size of the parameters. Norms
/// below `min_norm` count as that. Defaults: min_norm 0, trust_coefficient 1, eps 0.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | parameters or gradient of zeros, min_norm 0 | unchanged |
///
/// # Errors
/// All must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_trust_ratio()))).is_ok());
/// ```
///
/// # Reference
/// You et al., 2017, arXiv 1708.03888.
pub fn scale_by_trust_ratio() -> ScaleByTrustRatio {
    ScaleByTrustRatio {
        min_norm: 0.0.into(),
        trust_coefficient: 1.0.into(),
        eps: 0.0.into(),
        mask: Leaves::All,
    }
}

impl ScaleByTrustRatio {
    hyper_setters! {
        /// The smallest norm that counts, of both.
        min_norm;
        /// A factor.
        trust_coefficient;
        /// A number added to the norm of the gradient.
        eps;
    }

    /// The leaves that are scaled; the others pass unchanged.
    #[must_use]
    pub fn mask(mut self, mask: Leaves) -> Self {
        self.mask = mask;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("min_norm", &mut self.min_norm)?;
        args.set_hyper("trust_coefficient", &mut self.trust_coefficient)?;
        args.set_hyper("eps", &mut self.eps)?;
        if let Some(mask) = args.leaves("mask")? {
            self.mask = mask;
        }
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByTrustRatio {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let min_norm = cx.hyper(
            "min_norm",
            &self.min_norm.or_named("min_norm"),
            Domain::NonNegative,
        );
        let trust_coefficient = cx.hyper(
            "trust_coefficient",
            &self.trust_coefficient.or_named("trust_coefficient"),
            Domain::NonNegative,
        );
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let params = cx.params().leaf_norm().max(&min_norm);
        let grads = x.leaf_norm().max(min_norm);
        let ratio = (&params * trust_coefficient).div_or_zero(&grads + eps);
        let ratio = params.equal(0.0).select(1.0, ratio);
        let scaled = &x * grads.equal(0.0).select(1.0, ratio);
        match &self.mask {
            Leaves::All => scaled.as_input(),
            mask => cx.choose(mask, &scaled, &x).as_input(),
        }
    }
}
