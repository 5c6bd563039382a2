//! A gradient of a given norm.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "normalize_by_update_norm",
    family: Family::Aggregated,
    summary: "scale_factor * g / (||g|| + eps)",
    reference: "",
    arguments: &[
        Argument::optional("scale_factor", "1"),
        Argument::optional("eps", "1e-6"),
    ],
    build: |args| {
        let mut link = normalize_by_update_norm();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// A gradient of a given norm. Built by [`normalize_by_update_norm`].
#[derive(Clone, Debug)]
pub struct NormalizeByUpdateNorm {
    scale_factor: Hyper,
    eps: Hyper,
}

/// Divides the gradient by its Euclidean norm over all leaves: `scale_factor * g / (||g|| + eps)`. Defaults: scale_factor 1, eps 1e-6.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | all zeros | zeros |
///
/// # Errors
/// `scale_factor` must be finite, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), normalize_by_update_norm()))).is_ok());
/// ```
pub fn normalize_by_update_norm() -> NormalizeByUpdateNorm {
    NormalizeByUpdateNorm {
        scale_factor: 1.0.into(),
        eps: 1e-6.into(),
    }
}

impl NormalizeByUpdateNorm {
    hyper_setters! {
        /// The norm to give.
        scale_factor;
        /// A number added to the norm.
        eps;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("scale_factor", &mut self.scale_factor)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for NormalizeByUpdateNorm {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let scale_factor = cx.hyper(
            "scale_factor",
            &self.scale_factor.or_named("scale_factor"),
            Domain::Finite,
        );
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        (&x * scale_factor).div_or_zero(x.norm() + eps).as_input()
    }
}
