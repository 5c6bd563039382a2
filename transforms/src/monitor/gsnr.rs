//! The signal to noise ratio of each gradient element.

use crate::axis::{ExamplesApart, PerExample};
use crate::program::Reduction;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "gsnr",
    family: Family::Monitor,
    summary: "gsnr.mean = mean_p ((mean g_p)^2 / Var(g_p))",
    reference: "Liu et al., 2020, arXiv 2001.07384",
    arguments: &[
        Argument::optional("unbiased", "false"),
        Argument::optional("elements", "false"),
    ],
    build: |args| {
        let mut link = gsnr();
        link.unbiased = args.flag("unbiased")?.unwrap_or(false);
        link.elements = args.flag("elements")?.unwrap_or(false);
        Ok(Link::per_example(link))
    },
};

/// The signal to noise ratio of each gradient element. Built by [`gsnr`].
#[derive(Clone, Copy, Debug)]
pub struct Gsnr {
    unbiased: bool,
    elements: bool,
}

/// Passes the gradients on, and measures the signal to noise ratio of each element: `(mean g)^2 / Var(g)` over the examples.
///
/// | metric | what | units |
/// |--|--|--|
/// | `gsnr.mean` | the mean over all elements | 1 |
/// | `gsnr.leaf_mean` | the mean over the elements of each leaf | 1 |
/// | `gsnr.elements` | each element, if [`elements`](Gsnr::elements) is asked for | 1 |
///
/// The variance is the biased one, divided by B, or the [unbiased](Gsnr::unbiased) one, divided by `B - 1`. The square of the
/// mean is not corrected: without a signal its expectation is `Var / B`, so a ratio of `1 / B` means nothing.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0; B = 1 and unbiased | an error that names the link |
/// | an element that is 0 in all examples | 0 |
/// | an element that is the same in all examples | infinite, and so are the means: it shows |
/// | B = 1, biased | 0 or infinite, by the two rows above |
/// | no elements | 0 |
/// | a NaN in one example | NaN in its element and the means |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((monitor::gsnr().unbiased(), mean()))).is_ok());
/// ```
///
/// # Reference
/// Liu, Jiang, Bai, Chen, Wang, 2020, arXiv 2001.07384.
pub fn gsnr() -> Gsnr {
    Gsnr {
        unbiased: false,
        elements: false,
    }
}

impl Gsnr {
    /// Divides the variance by `B - 1`.
    #[must_use]
    pub fn unbiased(mut self) -> Self {
        self.unbiased = true;
        self
    }

    /// Gives out the ratio of each element too, as the metric `gsnr.elements`.
    #[must_use]
    pub fn elements(mut self) -> Self {
        self.elements = true;
        self
    }
}

impl<In: ExamplesApart> Transform<In> for Gsnr {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        let ddof = usize::from(self.unbiased);
        let variance = x.reduce(Reduction::Variance { ddof });
        let ratio = x.mean().square().div_or_zero(variance);
        let (sum, size) = (ratio.sum_elements(), cx.leaf_size());
        let mean = sum.sum_leaves().div_or_zero(size.sum_leaves());
        cx.emit("mean", &mean);
        cx.emit("leaf_mean", &sum.div_or_zero(size));
        if self.elements {
            cx.emit("elements", &ratio);
        }
        x
    }
}
