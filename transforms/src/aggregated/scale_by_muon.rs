//! Muon's direction: a momentum made orthogonal.

use crate::aggregated::ema;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::program::Axes;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_muon",
    family: Family::Aggregated,
    summary: "newton_schulz(ema(g, beta)) * sqrt(max(1, columns / rows))",
    reference: "Jordan et al., 2024, kellerjordan.github.io/posts/muon",
    arguments: &[
        Argument::optional("ns_a", "3.4445"),
        Argument::optional("ns_b", "-4.775"),
        Argument::optional("ns_c", "2.0315"),
        Argument::optional("ns_steps", "5"),
        Argument::optional("beta", "0.95"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("nesterov", "true"),
        Argument::optional("adaptive", "false"),
        Argument::optional("consistent_rms", "none"),
    ],
    build: |args| {
        let mut link = scale_by_muon();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Muon's direction: a momentum made orthogonal. Built by [`scale_by_muon`].
#[derive(Clone, Debug)]
pub struct ScaleByMuon {
    pub(crate) ns_a: Hyper,
    pub(crate) ns_b: Hyper,
    pub(crate) ns_c: Hyper,
    ns_steps: usize,
    pub(crate) beta: Hyper,
    pub(crate) eps: Hyper,
    nesterov: bool,
    adaptive: bool,
    consistent_rms: Option<Hyper>,
}

/// Averages the gradients, debiased, and brings the singular values of each average near to 1 by Newton and Schulz's iteration
/// `X <- a X + b X X^T X + c X X^T X X^T X`, which begins with `X / (||X|| + eps)`. The result is multiplied by
/// `sqrt(max(1, columns / rows))`.
///
/// Leaves are read as matrices: the first axis is the rows, the others together are the columns; a vector is one row,
/// with the factor 1. Defaults:
/// a 3.4445, b -4.775, c 2.0315, ns_steps 5, beta 0.95, eps 1e-8, nesterov.
///
/// # State
/// An average, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `beta` must be at least 0 and below 1, the coefficients finite, `eps` and `consistent_rms` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_muon()))).is_ok());
/// ```
///
/// # Reference
/// Jordan et al., 2024, kellerjordan.github.io/posts/muon.
pub fn scale_by_muon() -> ScaleByMuon {
    ScaleByMuon {
        ns_a: 3.4445.into(),
        ns_b: (-4.775).into(),
        ns_c: 2.0315.into(),
        ns_steps: 5,
        beta: 0.95.into(),
        eps: 1e-8.into(),
        nesterov: true,
        adaptive: false,
        consistent_rms: None,
    }
}

impl ScaleByMuon {
    hyper_setters! {
        /// The first coefficient of the iteration.
        ns_a;
        /// The second coefficient of the iteration.
        ns_b;
        /// The third coefficient of the iteration.
        ns_c;
        /// The decay of the average of the gradients.
        beta;
        /// A number added to the root.
        eps;
    }

    /// How many iterations.
    #[must_use]
    pub fn ns_steps(mut self, ns_steps: usize) -> Self {
        self.ns_steps = ns_steps;
        self
    }

    /// Whether the average of the gradients looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Whether the result is multiplied by its product with the average.
    #[must_use]
    pub fn adaptive(mut self, adaptive: bool) -> Self {
        self.adaptive = adaptive;
        self
    }

    /// The root mean square of the result: it is then multiplied by this times the root of the longer side, instead of the root of `max(1, columns / rows)`.
    #[must_use]
    pub fn consistent_rms(mut self, consistent_rms: impl Into<Hyper>) -> Self {
        self.consistent_rms = Some(consistent_rms.into());
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("ns_a", &mut self.ns_a)?;
        args.set_hyper("ns_b", &mut self.ns_b)?;
        args.set_hyper("ns_c", &mut self.ns_c)?;
        self.ns_steps = args.count("ns_steps")?.unwrap_or(self.ns_steps);
        args.set_hyper("beta", &mut self.beta)?;
        args.set_hyper("eps", &mut self.eps)?;
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        self.adaptive = args.flag("adaptive")?.unwrap_or(self.adaptive);
        if let Some(consistent_rms) = args.optional_hyper("consistent_rms")? {
            self.consistent_rms = Some(consistent_rms);
        }
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByMuon {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let ns_a = cx.hyper("ns_a", &self.ns_a.or_named("ns_a"), Domain::Finite);
        let ns_b = cx.hyper("ns_b", &self.ns_b.or_named("ns_b"), Domain::Finite);
        let ns_c = cx.hyper("ns_c", &self.ns_c.or_named("ns_c"), Domain::Finite);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let average = ema(self.beta.or_named("beta")).nesterov(self.nesterov);
        let average = cx.apply(&average, x);
        let mut step = average.div_or_zero(average.leaf_norm() + eps);
        for _ in 0..self.ns_steps {
            let cube = step.times_transposed(&step, &step);
            let fifth = step.times_transposed(&step, &cube);
            step = &step * &ns_a + cube * &ns_b + fifth * &ns_c;
        }
        if self.adaptive {
            step = &step * (&average * &step).sum_elements();
        }
        let rows = cx.count_along(Axes::Bits(1));
        let columns = cx.count_along(Axes::AllBut(0));
        let scale = match &self.consistent_rms {
            None => (columns / rows).max(1.0).sqrt(),
            Some(size) => {
                let size = cx.hyper("consistent_rms", size, Domain::NonNegative);
                columns.max(rows).sqrt() * size
            }
        };
        (step * scale).as_input()
    }
}
