//! Polyak's step.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_polyak",
    family: Family::Aggregated,
    summary: "g * min((loss - f_min) / (||g||^2 + eps), max_learning_rate)",
    reference: "Loizou et al., 2020, arXiv 2002.10542",
    arguments: &[
        Argument::optional("f_min", "0"),
        Argument::optional("max_learning_rate", "1"),
        Argument::optional("eps", "0"),
        Argument::optional("variant", "sps"),
    ],
    build: |args| {
        let mut link = scale_by_polyak();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// What [`scale_by_polyak`] does with a loss below the smallest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolyakVariant {
    /// The step is negative.
    Sps,
    /// The step is 0.
    SpsPlus,
}

/// Polyak's step. Built by [`scale_by_polyak`].
#[derive(Clone, Debug)]
pub struct ScaleByPolyak {
    pub(crate) f_min: Hyper,
    pub(crate) max_learning_rate: Hyper,
    pub(crate) eps: Hyper,
    variant: PolyakVariant,
}

/// Multiplies the gradient by the step that would bring a line down to `f_min`: `(loss - f_min) / (||g||^2 + eps)`, at most
/// `max_learning_rate`. It reads the loss of the step, the extra `loss`.
///
/// Defaults: f_min 0, max_learning_rate 1, eps 0, variant sps.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | squared norm + eps of at most 2.2e-16 | zeros |
/// | loss below `f_min` | a step uphill (`sps`), or zeros (`sps+`) |
///
/// # Errors
/// `f_min` must be finite, `max_learning_rate` not negative, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_polyak()))).is_ok());
/// ```
///
/// # Reference
/// Loizou et al., 2020, arXiv 2002.10542.
pub fn scale_by_polyak() -> ScaleByPolyak {
    ScaleByPolyak {
        f_min: 0.0.into(),
        max_learning_rate: 1.0.into(),
        eps: 0.0.into(),
        variant: PolyakVariant::Sps,
    }
}

impl ScaleByPolyak {
    hyper_setters! {
        /// The smallest loss there can be.
        f_min;
        /// The largest step size.
        max_learning_rate;
        /// A number added to the squared norm.
        eps;
    }

    /// What happens to a loss below `f_min`.
    #[must_use]
    pub fn variant(mut self, variant: PolyakVariant) -> Self {
        self.variant = variant;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("f_min", &mut self.f_min)?;
        args.set_hyper("max_learning_rate", &mut self.max_learning_rate)?;
        args.set_hyper("eps", &mut self.eps)?;
        match args.choice("variant", &["sps", "sps+"])? {
            Some("sps") => self.variant = PolyakVariant::Sps,
            Some("sps+") => self.variant = PolyakVariant::SpsPlus,
            _ => {}
        }
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByPolyak {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let f_min = cx.hyper("f_min", &self.f_min.or_named("f_min"), Domain::Finite);
        let max_learning_rate = cx.hyper(
            "max_learning_rate",
            &self.max_learning_rate.or_named("max_learning_rate"),
            Domain::Bound,
        );
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let gap = cx.extra("loss") - f_min;
        let gap = match self.variant {
            PolyakVariant::Sps => gap,
            PolyakVariant::SpsPlus => gap.max(0.0),
        };
        let square = x.sq_norm() + eps;
        let step = (gap / &square).min(max_learning_rate);
        (x * square.le(f64::EPSILON).select(0.0, step)).as_input()
    }
}
