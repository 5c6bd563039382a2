//! A bound on the gradient of each unit, relative to its weights.

use crate::axis::Aggregated;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::program::Axes;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "adaptive_grad_clip",
    family: Family::Aggregated,
    summary: "g * min(1, clipping * max(||p||, eps) / ||g||), unit by unit",
    reference: "Brock et al., 2021, arXiv 2102.06171",
    arguments: &[
        Argument::required("clipping"),
        Argument::optional("eps", "1e-3"),
        Argument::optional("axis", "none"),
    ],
    build: |args| {
        let mut link = adaptive_grad_clip(args.hyper("clipping")?);
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// A bound on the gradient of each unit, relative to its weights. Built by [`adaptive_grad_clip`].
#[derive(Clone, Debug)]
pub struct AdaptiveGradClip {
    clipping: Hyper,
    eps: Hyper,
    axis: Axes,
}

/// Scales the gradient of each unit down to `clipping` times the norm of the unit's weights, if it is longer.
///
/// A unit is what one output reads: its norm goes along the axes [`Axes::Inputs`], which is axis 0 for the `[in, out]` weight of a
/// linear layer. burn's convolutions have the output first: give them `.axis(Axes::AllBut(0))`. Default: eps 1e-3.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | gradient of zeros | zeros, also for `clipping` 0 |
/// | weights of zeros | they count as of norm `eps` |
/// | gradient with a NaN | NaN in every element of the unit: it shows |
///
/// # Errors
/// `clipping` must not be negative or NaN, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), adaptive_grad_clip(0.5)))).is_ok());
/// ```
///
/// # Reference
/// Brock et al., 2021, arXiv 2102.06171.
pub fn adaptive_grad_clip(clipping: impl Into<Hyper>) -> AdaptiveGradClip {
    AdaptiveGradClip {
        clipping: clipping.into(),
        eps: 1e-3.into(),
        axis: Axes::Inputs,
    }
}

impl AdaptiveGradClip {
    hyper_setters! {
        /// The smallest norm of weights that counts.
        eps;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("eps", &mut self.eps)?;
        if let Some(axes) = args.counts("axis")? {
            self.axis = Axes::listed(&axes);
        }
        Ok(())
    }

    /// The axes that the norm of a unit goes along; [`Axes::Inputs`] unless set.
    #[must_use]
    pub fn axis(mut self, axis: Axes) -> Self {
        self.axis = axis;
        self
    }
}

impl<In: ExamplesReduced> Transform<In> for AdaptiveGradClip {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let clipping = cx.hyper("clipping", &self.clipping, Domain::Bound);
        let eps = cx.hyper("eps", &self.eps, Domain::NonNegative);
        let norm = |x: &Value<Aggregated>| x.square().sum_along(self.axis).sqrt();
        let bound = norm(&cx.params()).max(eps) * clipping;
        let weight = norm(&x).weight_within(bound);
        (x * weight).as_input()
    }
}
