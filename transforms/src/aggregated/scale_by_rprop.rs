//! Rprop.

use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_rprop",
    family: Family::Aggregated,
    summary: "s * sign(g); s grows by eta_plus while the sign stays, falls by eta_minus when it changes",
    reference: "Riedmiller and Braun, 1993, ICNN",
    arguments: &[
        Argument::required("learning_rate"),
        Argument::optional("eta_minus", "0.5"),
        Argument::optional("eta_plus", "1.2"),
        Argument::optional("min_step_size", "1e-6"),
        Argument::optional("max_step_size", "50"),
        Argument::optional("late", "false"),
    ],
    build: |args| {
        let mut link = scale_by_rprop(args.hyper("learning_rate")?);
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// Rprop. Built by [`scale_by_rprop`].
#[derive(Clone, Debug)]
pub struct ScaleByRprop {
    pub(crate) learning_rate: Hyper,
    pub(crate) eta_minus: Hyper,
    pub(crate) eta_plus: Hyper,
    pub(crate) min_step_size: Hyper,
    pub(crate) max_step_size: Hyper,
    late: bool,
}

/// Takes steps in the direction of the sign, whose size has nothing to do with the gradient's: it begins with `learning_rate`, grows
/// by `eta_plus` while the sign stays and falls by `eta_minus` when it changes, in which case the coordinate rests for a step.
///
/// Defaults: eta_minus 0.5, eta_plus 1.2, steps from 1e-6 to 50. optax gives out each step one step late, so that the first is zero:
/// set `late` for that.
///
/// # State
/// Two pieces in the shape of the parameters.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zero | zero, and the size stays |
///
/// # Errors
/// All must be finite and not negative; `max_step_size` may be infinite.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_rprop(0.1), scale(-1.0)))).is_ok());
/// ```
///
/// # Reference
/// Riedmiller, Braun, 1993, ICNN.
pub fn scale_by_rprop(learning_rate: impl Into<Hyper>) -> ScaleByRprop {
    ScaleByRprop {
        learning_rate: learning_rate.into(),
        eta_minus: 0.5.into(),
        eta_plus: 1.2.into(),
        min_step_size: 1e-6.into(),
        max_step_size: 50.0.into(),
        late: false,
    }
}

impl ScaleByRprop {
    hyper_setters! {
        /// The factor when the sign changes.
        eta_minus;
        /// The factor while the sign stays.
        eta_plus;
        /// The smallest step.
        min_step_size;
        /// The largest step.
        max_step_size;
    }

    /// Whether each step is given out one step late, as optax does.
    #[must_use]
    pub fn late(mut self, late: bool) -> Self {
        self.late = late;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        args.set_hyper("eta_minus", &mut self.eta_minus)?;
        args.set_hyper("eta_plus", &mut self.eta_plus)?;
        args.set_hyper("min_step_size", &mut self.min_step_size)?;
        args.set_hyper("max_step_size", &mut self.max_step_size)?;
        self.late = args.flag("late")?.unwrap_or(self.late);
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByRprop {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let learning_rate = cx.hyper(
            "learning_rate",
            &self.learning_rate.or_named("learning_rate"),
            Domain::NonNegative,
        );
        let eta_minus = cx.hyper(
            "eta_minus",
            &self.eta_minus.or_named("eta_minus"),
            Domain::NonNegative,
        );
        let eta_plus = cx.hyper(
            "eta_plus",
            &self.eta_plus.or_named("eta_plus"),
            Domain::NonNegative,
        );
        let min_step_size = cx.hyper(
            "min_step_size",
            &self.min_step_size.or_named("min_step_size"),
            Domain::NonNegative,
        );
        let max_step_size = cx.hyper(
            "max_step_size",
            &self.max_step_size.or_named("max_step_size"),
            Domain::Bound,
        );
        let last = cx.slot::<Leaf>("last", 0.0);
        let turn = &x * last.before();
        let turned = turn.lt(0.0);
        let first = cx.step().equal(0.0);
        let size = cx.state::<Leaf>("size", 0.0, |size| {
            let size = first.select(learning_rate, size);
            let grown = &size * turn.gt(0.0).select(eta_plus, eta_minus);
            let bounded = grown.max(min_step_size).min(max_step_size);
            turn.equal(0.0).select(size, bounded)
        });
        let next = turned.select(0.0, size * x.sign());
        let step = if self.late {
            turned.select(0.0, last.before())
        } else {
            next.clone()
        };
        cx.set(last, &next);
        step.as_input()
    }
}
