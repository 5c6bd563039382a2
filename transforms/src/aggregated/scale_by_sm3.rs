//! SM3's preconditioner.

use super::moments::average;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::program::Axes;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_sm3",
    family: Family::Aggregated,
    summary: "ema(g / sqrt(v + eps), b1); v = min of its axes' largest + g^2",
    reference: "Anil et al., 2019, arXiv 1901.11150",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "1"),
        Argument::optional("eps", "1e-8"),
    ],
    build: |args| {
        let mut link = scale_by_sm3();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// SM3's preconditioner. Built by [`scale_by_sm3`].
#[derive(Clone, Debug)]
pub struct ScaleBySm3 {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
}

/// Adagrad whose sums of squares are bounded, for each axis, by their largest along all other axes: `v` is the smallest of the bounds
/// plus `g^2` (`b2 * bound + (1 - b2) * g^2` for b2 below 1), the new bounds are the largest of `v`. Results are averaged, not debiased.
///
/// Defaults: b1 0.9, b2 1, eps 1e-8 under the root.
///
/// # State
/// An average and four bounds, each of the full shape of the parameters: the rule is SM3's, its saving of memory is not. Axes after
/// the fourth have no bound of their own, which keeps `v` an upper bound.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `b1` and `b2` must be from 0 to 1, `eps` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_sm3()))).is_ok());
/// ```
///
/// # Reference
/// Anil et al., 2019, arXiv 1901.11150.
pub fn scale_by_sm3() -> ScaleBySm3 {
    ScaleBySm3 {
        b1: 0.9.into(),
        b2: 1.0.into(),
        eps: 1e-8.into(),
    }
}

impl ScaleBySm3 {
    hyper_setters! {
        /// The decay of the average of the results.
        b1;
        /// The decay of the squares; 1 adds them up.
        b2;
        /// A number added to the root.
        eps;
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleBySm3 {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b1 = cx.hyper("b1", &self.b1.or_named("b1"), Domain::Share);
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Share);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let bounds = [0, 1, 2, 3].map(|axis| (axis, cx.slot::<Leaf>("bound", 0.0)));
        let mut bound = bounds[0].1.before();
        for (_, other) in &bounds[1..] {
            bound = bound.min(other.before());
        }
        let fresh = b2.equal(1.0).select(1.0, 1.0 - &b2);
        let squares = x.square() * fresh + bound * b2;
        for (axis, bound) in bounds {
            cx.set(bound, &squares.max_along(Axes::AllBut(axis)));
        }
        let scaled = x.div_or_zero((squares + eps).sqrt());
        average(cx, "results", &b1, &scaled).as_input()
    }
}
