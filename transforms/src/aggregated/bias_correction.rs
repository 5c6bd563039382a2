//! An average that began with 0, made unbiased.

use crate::axis::ExamplesReduced;
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "bias_correction",
    family: Family::Aggregated,
    summary: "g / (1 - decay^t)",
    reference: "",
    arguments: &[Argument::required("decay")],
    build: |args| Ok(Link::aggregated(bias_correction(args.hyper("decay")?))),
};

/// An average that began with 0, made unbiased. Built by [`bias_correction`].
#[derive(Clone, Debug)]
pub struct BiasCorrection {
    decay: Hyper,
}

/// Divides by `1 - decay^t` at step t, which makes up for an average of that decay that began with 0:
/// `ema(decay)` is `chain((ema(decay).debias(false), bias_correction(decay)))`.
///
/// # Errors
/// `decay` must be at least 0 and below 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), bias_correction(0.5)))).is_ok());
/// ```
pub fn bias_correction(decay: impl Into<Hyper>) -> BiasCorrection {
    BiasCorrection {
        decay: decay.into(),
    }
}

impl<In: ExamplesReduced> Transform<In> for BiasCorrection {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let decay = cx.hyper("decay", &self.decay, Domain::Decay);
        (x / (1.0 - decay.pow(cx.step() + 1.0))).as_input()
    }
}
