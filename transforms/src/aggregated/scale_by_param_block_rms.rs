//! Gradients in the size of the parameters: times the root mean square of each leaf.

use crate::axis::Axis;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_param_block_rms",
    family: Family::Aggregated,
    summary: "g * max(rms(p), min_scale)",
    reference: "",
    arguments: &[Argument::optional("min_scale", "1e-3")],
    build: |args| {
        let mut link = scale_by_param_block_rms();
        link.read(args)?;
        Ok(Link::both(link))
    },
};

/// Gradients in the size of the parameters: times the root mean square of each leaf. Built by [`scale_by_param_block_rms`].
#[derive(Clone, Debug)]
pub struct ScaleByParamBlockRms {
    pub(crate) min_scale: Hyper,
}

/// Multiplies each leaf's gradient by the root mean square of its parameters, or by `min_scale` if that is larger. Default: min_scale 1e-3.
/// Stands before or after the reduction over examples.
///
/// # Errors
/// `min_scale` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_param_block_rms()))).is_ok());
/// ```
pub fn scale_by_param_block_rms() -> ScaleByParamBlockRms {
    ScaleByParamBlockRms {
        min_scale: 1e-3.into(),
    }
}

impl ScaleByParamBlockRms {
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

impl<In: Axis> Transform<In> for ScaleByParamBlockRms {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let min_scale = cx.hyper(
            "min_scale",
            &self.min_scale.or_named("min_scale"),
            Domain::NonNegative,
        );
        let size = cx
            .params()
            .leaf_sq_norm()
            .div_or_zero(cx.leaf_size())
            .sqrt();
        x * size.max(min_scale)
    }
}
