//! Gradients in the size of the parameters: times the norm of each leaf.

use crate::axis::Axis;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_param_block_norm",
    family: Family::Aggregated,
    summary: "g * max(||p||, min_scale)",
    reference: "",
    arguments: &[Argument::optional("min_scale", "1e-3")],
    build: |args| {
        let mut link = scale_by_param_block_norm();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Gradients in the size of the parameters: times the norm of each leaf. Built by [`scale_by_param_block_norm`].
#[derive(Clone, Debug)]
pub struct ScaleByParamBlockNorm {
    pub(crate) min_scale: Hyper,
}

/// Multiplies each leaf's gradient by the norm of its parameters, or by `min_scale` if that is larger. Default: min_scale 1e-3.
/// Stands before or after the reduction over examples.
///
/// # Errors
/// `min_scale` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_param_block_norm()))).is_ok());
/// ```
pub fn scale_by_param_block_norm() -> ScaleByParamBlockNorm {
    ScaleByParamBlockNorm {
        min_scale: 1e-3.into(),
    }
}

impl ScaleByParamBlockNorm {
    hyper_setters! {
        /// The smallest factor.
        min_scale;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("min_scale", &mut self.min_scale)?;
        Ok(())
    }
}

impl<In: Axis> Transform<In> for ScaleByParamBlockNorm {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let min_scale = cx.hyper(
            "min_scale",
            &self.min_scale.or_named("min_scale"),
            Domain::NonNegative,
        );
        let size = cx.params().leaf_norm();
        x * size.max(min_scale)
    }
}
