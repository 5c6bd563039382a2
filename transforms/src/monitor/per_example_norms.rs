//! The norm of each example, and how many stand out.

use crate::axis::{ExamplesApart, PerExample};
use crate::hyper::{Domain, Hyper};
use crate::program::Reduction;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "per_example_norms",
    family: Family::Monitor,
    summary: "per_example_norms.norm = ||g_b||, with outliers: the number of those above outliers_above * median",
    reference: "Goodfellow, 2015, arXiv 1510.01799",
    arguments: &[
        Argument::optional("leaf_norms", "false"),
        Argument::optional("outliers_above", "none"),
    ],
    build: |args| {
        let mut link = per_example_norms();
        link.leaf_norms = args.flag("leaf_norms")?.unwrap_or(false);
        link.outliers_above = args.optional_hyper("outliers_above")?;
        Ok(Link::per_example(link))
    },
};

/// The norm of each example. Built by [`per_example_norms`].
#[derive(Clone, Debug)]
pub struct PerExampleNorms {
    leaf_norms: bool,
    outliers_above: Option<Hyper>,
}

/// Passes the gradients on, and gives out the Euclidean norm of each example.
///
/// | metric | what | if |
/// |--|--|--|
/// | `per_example_norms.norm` | the norm over all leaves, `[B]` | always |
/// | `per_example_norms.leaf_norm` | the norm in each leaf, `[B]` for each leaf | [`leaf_norms`](PerExampleNorms::leaf_norms) |
/// | `per_example_norms.median` | the median over the batch | [`outliers_above`](PerExampleNorms::outliers_above) |
/// | `per_example_norms.outliers` | how many norms are above the factor times the median | the same |
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | no norms; with `outliers_above` an error that names the link |
/// | a norm equal to the bound, also all zeros | no outlier |
/// | more than half of the examples zeros | the median is 0, and every other example an outlier |
/// | a NaN in one example | its norm is NaN, and so is the median; no example is an outlier |
/// | an infinity in one example | its norm is infinite, and it is an outlier, unless half of the batch is |
/// | norm above 1.8e19 in f32 | infinite: the square overflows |
/// | norm below 1e-23 in f32 | 0: the square underflows |
/// | a batch in parts | right, but with `outliers_above` refused: a median needs the whole batch |
///
/// # Errors
/// The factor must not be negative or NaN.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let norms = monitor::per_example_norms().outliers_above(5.0);
/// assert!(program(&chain((norms, mean()))).is_ok());
/// ```
///
/// # Reference
/// Goodfellow, 2015, arXiv 1510.01799.
pub fn per_example_norms() -> PerExampleNorms {
    PerExampleNorms {
        leaf_norms: false,
        outliers_above: None,
    }
}

impl PerExampleNorms {
    /// Gives out the norms in each leaf too.
    #[must_use]
    pub fn leaf_norms(mut self) -> Self {
        self.leaf_norms = true;
        self
    }

    /// Counts the examples whose norm is above this factor times the median.
    #[must_use]
    pub fn outliers_above(mut self, factor: impl Into<Hyper>) -> Self {
        self.outliers_above = Some(factor.into());
        self
    }
}

impl<In: ExamplesApart> Transform<In> for PerExampleNorms {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let norm = x.norm();
        cx.emit("norm", &norm);
        if self.leaf_norms {
            cx.emit("leaf_norm", &x.leaf_norm());
        }
        if let Some(factor) = &self.outliers_above {
            let factor = cx.hyper("outliers_above", factor, Domain::Bound);
            let median = norm.reduce(Reduction::Median);
            cx.emit("median", &median);
            let outlier = norm.gt(&median * factor);
            cx.emit("outliers", &outlier.as_number().sum());
        }
        x
    }
}
