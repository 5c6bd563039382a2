//! Adam's preconditioner, without the learning rate.

use crate::aggregated::ema;
use crate::axis::ExamplesReduced;
use crate::combine::{chain, ratio};
use crate::elementwise::{add_scalar, sqrt, square};
use crate::hyper::{Hyper, hyper_setters};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_adam",
    family: Family::Aggregated,
    summary: "ema(g, b1) / (sqrt(ema(g^2, b2) + eps_root) + eps)",
    reference: "Kingma and Ba, 2014, arXiv 1412.6980",
    arguments: ARGUMENTS,
    build: |args| {
        let mut link = scale_by_adam();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

pub(crate) const ARGUMENTS: &[Argument] = &[
    Argument::optional("b1", "0.9"),
    Argument::optional("b2", "0.999"),
    Argument::optional("eps", "1e-8"),
    Argument::optional("eps_root", "0"),
    Argument::optional("nesterov", "false"),
];

/// Adam's preconditioner, without the learning rate. Built by [`scale_by_adam`].
#[derive(Clone, Debug)]
pub struct ScaleByAdam {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    eps_root: Option<Hyper>,
    nesterov: bool,
}

/// Divides an average of the gradients by the root of an average of their squares.
///
/// `ratio(ema(b1), chain((square(), ema(b2), sqrt())), eps)`: both averages are debiased, and eps stands outside the root,
/// after the debiasing, as in optax. Defaults: b1 0.9, b2 0.999, eps 1e-8, eps_root 0. burn's own Adam has eps 1e-5.
///
/// # State
/// Two moments in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, in every dtype |
/// | an element above 1.8e19 in f32 | its square is infinite and stays in the second moment: that element's updates are 0 from then on; clip before |
///
/// # Errors
/// `b1` and `b2` must be at least 0 and below 1, `eps` and `eps_root` finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_adam().b2(0.99), scale(-1e-3)))).is_ok());
/// ```
///
/// # Reference
/// Kingma, Ba, 2014, arXiv 1412.6980, algorithm 1.
pub fn scale_by_adam() -> ScaleByAdam {
    ScaleByAdam {
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
        eps_root: None,
        nesterov: false,
    }
}

impl ScaleByAdam {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// A number added to the root.
        eps;
    }

    /// A number added under the root.
    #[must_use]
    pub fn eps_root(mut self, eps_root: impl Into<Hyper>) -> Self {
        self.eps_root = Some(eps_root.into());
        self
    }

    /// Whether the average of the gradients looks one step ahead (Nadam).
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(
        &mut self,
        args: &mut crate::spec::Arguments<'_>,
    ) -> Result<(), crate::Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        if let Some(eps_root) = args.optional_hyper("eps_root")? {
            self.eps_root = Some(eps_root);
        }
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByAdam {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let first = ema(self.b1.or_named("b1")).nesterov(self.nesterov);
        let second = ema(self.b2.or_named("b2"));
        let eps = self.eps.or_named("eps");
        let direction = match &self.eps_root {
            None => cx.apply(&ratio(first, chain((square(), second, sqrt())), eps), x),
            Some(eps_root) => {
                let shift = add_scalar(eps_root.or_named("eps_root")).not_negative();
                cx.apply(
                    &ratio(first, chain((square(), second, shift, sqrt())), eps),
                    x,
                )
            }
        };
        direction.as_input()
    }
}
