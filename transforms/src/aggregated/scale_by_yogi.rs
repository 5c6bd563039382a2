//! Yogi's preconditioner.

use super::moments::debiased;
use crate::aggregated::ema;
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_yogi",
    family: Family::Aggregated,
    summary: "ema(g, b1) / (sqrt(v) + eps); v <- v - (1 - b2) sign(v - g^2) g^2",
    reference: "Zaheer et al., 2018, NeurIPS",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-3"),
        Argument::optional("eps_root", "0"),
        Argument::optional("initial_accumulator_value", "1e-6"),
    ],
    build: |args| {
        let mut link = scale_by_yogi();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Yogi's preconditioner. Built by [`scale_by_yogi`].
#[derive(Clone, Debug)]
pub struct ScaleByYogi {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
    initial_accumulator_value: f64,
}

/// Adam whose second moment moves towards the square by no more than a share of the square, so that it falls slowly:
/// `v <- v - (1 - b2) sign(v - g^2) g^2`.
///
/// Defaults are optax's: b1 0.9, b2 0.999, eps 1e-3, eps_root 0, and *both* averages begin with 1e-6 and are debiased as if they began
/// with 0.
///
/// # State
/// Two averages, in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | not zeros, as the first average does not begin with 0: finite, and fading with b1; give an `initial_accumulator_value` of 0 for zeros |
///
/// # Errors
/// `b1` and `b2` must be at least 0 and below 1, `eps` and `eps_root` finite and not negative, `initial_accumulator_value` finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_yogi()))).is_ok());
/// ```
///
/// # Reference
/// Zaheer et al., 2018, NeurIPS.
pub fn scale_by_yogi() -> ScaleByYogi {
    ScaleByYogi {
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-3.into(),
        eps_root: 0.0.into(),
        initial_accumulator_value: 1e-6,
    }
}

impl ScaleByYogi {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// A number added to the root.
        eps;
        /// A number added under the root.
        eps_root;
    }

    /// What both averages are before the first step.
    #[must_use]
    pub fn initial_accumulator_value(mut self, initial_accumulator_value: f64) -> Self {
        self.initial_accumulator_value = initial_accumulator_value;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        self.initial_accumulator_value = args
            .number("initial_accumulator_value")?
            .unwrap_or(self.initial_accumulator_value);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByYogi {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Decay);
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let eps_root = cx.hyper(
            "eps_root",
            &self.eps_root.or_named("eps_root"),
            Domain::NonNegative,
        );
        let first = cx.apply(
            &ema(self.b1.or_named("b1")).init(self.initial_accumulator_value),
            x.clone(),
        );
        let square = x.square();
        let second = cx.state_from("second", self.initial_accumulator_value, |v| {
            let towards = (&v - &square).sign() * &square * (1.0 - &b2);
            v - towards
        });
        let root = (debiased(cx, &second, &b2) + eps_root).sqrt() + eps;
        first.div_or_zero(root).as_input()
    }
}
