//! The step of DoWG.

use super::moments::{number_from, start};
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Global;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_dowg",
    family: Family::Aggregated,
    summary: "g * r^2 / (sqrt(sum of r^2 ||g||^2) + eps), r = max over the steps of ||p - p_0||",
    reference: "Khaled et al., 2023, arXiv 2305.16284",
    arguments: &[
        Argument::optional("init_estim_sq_dist", "none"),
        Argument::optional("eps", "1e-4"),
    ],
    build: |args| {
        let mut link = scale_by_dowg();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The step of DoWG. Built by [`scale_by_dowg`].
#[derive(Clone, Debug)]
pub struct ScaleByDowg {
    init_estim_sq_dist: Option<Hyper>,
    pub(crate) eps: Hyper,
}

/// Multiplies the gradient by the largest squared distance of the parameters from where they began, over the root of the sum of the
/// squared norms of the gradients, each weighted by the squared distance of its step. Default: eps 1e-4.
///
/// # State
/// The first parameters, and two numbers.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `init_estim_sq_dist` and `eps` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_dowg()))).is_ok());
/// ```
///
/// # Reference
/// Khaled et al., 2023, arXiv 2305.16284.
pub fn scale_by_dowg() -> ScaleByDowg {
    ScaleByDowg {
        init_estim_sq_dist: None,
        eps: 1e-4.into(),
    }
}

impl ScaleByDowg {
    hyper_setters! {
        /// A number added to the root.
        eps;
    }

    /// The first squared distance; `eps` unless set.
    #[must_use]
    pub fn init_estim_sq_dist(mut self, init_estim_sq_dist: impl Into<Hyper>) -> Self {
        self.init_estim_sq_dist = Some(init_estim_sq_dist.into());
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        if let Some(init_estim_sq_dist) = args.optional_hyper("init_estim_sq_dist")? {
            self.init_estim_sq_dist = Some(init_estim_sq_dist);
        }
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByDowg {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let init = match &self.init_estim_sq_dist {
            None => eps.clone(),
            Some(init) => cx.hyper("init_estim_sq_dist", init, Domain::NonNegative),
        };
        let distance = (cx.params() - start(cx)).sq_norm();
        let distance = number_from(cx, "distance", &init, |before| before.max(distance));
        let weighted = &distance * x.sq_norm();
        let squares = cx.state::<Global>("squares", 0.0, |sum| sum + weighted);
        (x * distance.div_or_zero(squares.sqrt() + eps)).as_input()
    }
}
