//! The step of DoG, leaf by leaf.

use super::moments::start;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::PerLeaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_distance_over_gradients",
    family: Family::Aggregated,
    summary: "g * max over the steps of ||p - p_0|| / sqrt(sum of ||g||^2 + eps)",
    reference: "Ivgi et al., 2023, arXiv 2302.12022",
    arguments: &[
        Argument::optional("reps_rel", "1e-6"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("global_scale", "1"),
    ],
    build: |args| {
        let mut link = scale_by_distance_over_gradients();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// The step of DoG, leaf by leaf. Built by [`scale_by_distance_over_gradients`].
#[derive(Clone, Debug)]
pub struct ScaleByDistanceOverGradients {
    pub(crate) reps_rel: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) global_scale: Hyper,
}

/// Multiplies each leaf's gradient by the largest distance of its parameters from where they began, over the root of the sum of its
/// squared norms (layer-wise DoG, without a learning rate). The first distance is `reps_rel * (1 + ||p_0||)`.
///
/// Defaults: reps_rel 1e-6 (1e-4 with batch norm), eps 1e-8, global_scale 1.
///
/// # State
/// The first parameters, and two numbers for each leaf.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `reps_rel` and `eps` must be finite and not negative, `global_scale` finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_distance_over_gradients()))).is_ok());
/// ```
///
/// # Reference
/// Ivgi et al., 2023, arXiv 2302.12022.
pub fn scale_by_distance_over_gradients() -> ScaleByDistanceOverGradients {
    ScaleByDistanceOverGradients {
        reps_rel: 1e-6.into(),
        eps: 1e-8.into(),
        global_scale: 1.0.into(),
    }
}

impl ScaleByDistanceOverGradients {
    hyper_setters! {
        /// The first distance, relative to `1 + ||p_0||`.
        reps_rel;
        /// A number added to the root.
        eps;
        /// A factor, 1 or -1 most often.
        global_scale;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("reps_rel", &mut self.reps_rel)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("global_scale", &mut self.global_scale)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByDistanceOverGradients {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let reps_rel = cx.hyper(
            "reps_rel",
            &self.reps_rel.or_named("reps_rel"),
            Domain::NonNegative,
        );
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let global_scale = cx.hyper(
            "global_scale",
            &self.global_scale.or_named("global_scale"),
            Domain::Finite,
        );
        let params = cx.params();
        let first = cx.step().equal(0.0);
        let reach = (params.leaf_norm() + 1.0) * reps_rel;
        let distance = (params - start(cx)).leaf_norm();
        let distance = cx.state::<PerLeaf>("distance", 0.0, |before| {
            first.select(reach, before).max(distance)
        });
        let square = x.leaf_sq_norm();
        let squares = cx.state::<PerLeaf>("squares", 0.0, |sum| sum + square);
        let rate = distance.div_or_zero((squares + eps).sqrt()) * global_scale;
        (x * rate).as_input()
    }
}
