//! RAdam's preconditioner.

use crate::aggregated::ema;
use crate::axis::ExamplesReduced;
use crate::combine::chain;
use crate::elementwise::square;
use crate::error::Error;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_radam",
    family: Family::Aggregated,
    summary: "r * ema(g, b1) / (sqrt(ema(g^2, b2)) + eps); ema(g, b1) in the first steps",
    reference: "Liu et al., 2019, arXiv 1908.03265",
    arguments: &[
        Argument::optional("b1", "0.9"),
        Argument::optional("b2", "0.999"),
        Argument::optional("eps", "1e-8"),
        Argument::optional("eps_root", "0"),
        Argument::optional("threshold", "5"),
        Argument::optional("nesterov", "false"),
    ],
    build: |args| {
        let mut link = scale_by_radam();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// RAdam's preconditioner. Built by [`scale_by_radam`].
#[derive(Clone, Debug)]
pub struct ScaleByRadam {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    pub(crate) eps: Hyper,
    pub(crate) eps_root: Hyper,
    pub(crate) threshold: Hyper,
    nesterov: bool,
}

/// Adam, multiplied by a factor that makes up for the large variance of the second moment in the first steps; as long as the length
/// of that average, `rho = rho_inf - 2 t b2^t / (1 - b2^t)` with `rho_inf = 2 / (1 - b2) - 1`, is below `threshold`, it is the
/// average of the gradients alone.
///
/// `r^2 = (rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho)`. Defaults: b1 0.9, b2 0.999, eps 1e-8, eps_root 0,
/// threshold 5.
///
/// # State
/// Two averages, in the shape of the parameters.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | gradient of zeros | zeros, also for eps 0 |
/// | `threshold` below 4 | as 4, since below there is no `r`; optax gives NaN there |
///
/// # Errors
/// `b1` and `b2` must be at least 0 and below 1, `eps` and `eps_root` finite and not negative, `threshold` finite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_radam()))).is_ok());
/// ```
///
/// # Reference
/// Liu et al., 2019, arXiv 1908.03265.
pub fn scale_by_radam() -> ScaleByRadam {
    ScaleByRadam {
        b1: 0.9.into(),
        b2: 0.999.into(),
        eps: 1e-8.into(),
        eps_root: 0.0.into(),
        threshold: 5.0.into(),
        nesterov: false,
    }
}

impl ScaleByRadam {
    hyper_setters! {
        /// The decay of the average of the gradients.
        b1;
        /// The decay of the average of the squares.
        b2;
        /// A number added to the root.
        eps;
        /// A number added under the root.
        eps_root;
        /// From which length of the average on its variance is taken for tractable.
        threshold;
    }

    /// Whether the average of the gradients looks one step ahead.
    #[must_use]
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("eps", &mut self.eps)?;
        args.set_hyper("eps_root", &mut self.eps_root)?;
        args.set_hyper("threshold", &mut self.threshold)?;
        self.nesterov = args.flag("nesterov")?.unwrap_or(self.nesterov);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByRadam {
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
        let threshold = cx.hyper(
            "threshold",
            &self.threshold.or_named("threshold"),
            Domain::Finite,
        );
        let t = cx.step() + 1.0;
        let longest = 2.0 / (1.0 - &b2) - 1.0;
        let power = b2.pow(&t);
        let length = &longest - t * 2.0 * &power / (1.0 - &power);
        let over = (&length - 4.0) * (&length - 2.0) * &longest;
        let under = (&longest - 4.0) * (&longest - 2.0) * &length;
        let tractable = length.ge(threshold).and(&length.gt(4.0));

        let first = ema(self.b1.or_named("b1")).nesterov(self.nesterov);
        let first = cx.apply(&first, x.clone());
        let second = chain((square(), ema(self.b2.or_named("b2"))));
        let root = (cx.apply(&second, x) + eps_root).sqrt() + eps;
        let rectified = first.div_or_zero(root) * (over / under).sqrt();
        tractable.select(rectified, first).as_input()
    }
}
