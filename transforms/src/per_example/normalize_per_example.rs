//! Each example's gradient at unit length.

use crate::axis::{ExamplesApart, PerExample};
use crate::hyper::{Domain, Hyper};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "normalize_per_example",
    family: Family::PerExample,
    summary: "g_b / (||g_b|| + eps)",
    reference: "",
    arguments: &[
        Argument::optional("eps", "0"),
        Argument::optional("over", "all"),
    ],
    build: |args| {
        let mut link = normalize_per_example();
        if let Some(eps) = args.optional_hyper("eps")? {
            link = link.eps(eps);
        }
        if args.choice("over", &["all", "leaves"])? == Some("leaves") {
            link = link.per_leaf();
        }
        Ok(Link::per_example(link))
    },
};

/// Each example's gradient at unit length. Built by [`normalize_per_example`].
#[derive(Clone, Debug)]
pub struct NormalizePerExample {
    eps: Hyper,
    per_leaf: bool,
}

/// Divides each example's gradient by its Euclidean norm over all leaves, so that every example has the same say.
///
/// `g_b / (||g_b|| + eps)`, `[B, ..p] -> [B, ..p]`; eps is 0 unless set.
///
/// # Edge cases
/// | example | result |
/// |--|--|
/// | all zeros | zeros |
/// | with a NaN | NaN in every element of the example |
/// | norm above 1.8e19 in f32 | the square overflows: zeros |
/// | norm below 1e-23 in f32, not zero | the square underflows: infinite, it shows; set `eps` |
///
/// # Errors
/// `eps` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((normalize_per_example(), mean()))).is_ok());
/// ```
pub fn normalize_per_example() -> NormalizePerExample {
    NormalizePerExample {
        eps: 0.0.into(),
        per_leaf: false,
    }
}

impl NormalizePerExample {
    /// A number added to the norm.
    #[must_use]
    pub fn eps(mut self, eps: impl Into<Hyper>) -> Self {
        self.eps = eps.into();
        self
    }

    /// Normalizes each leaf on its own.
    #[must_use]
    pub fn per_leaf(mut self) -> Self {
        self.per_leaf = true;
        self
    }
}

impl<In: ExamplesApart> Transform<In> for NormalizePerExample {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let eps = cx.hyper("eps", &self.eps, Domain::NonNegative);
        if self.per_leaf {
            x.div_or_zero(x.leaf_norm() + eps)
        } else {
            x.div_or_zero(x.norm() + eps)
        }
    }
}
