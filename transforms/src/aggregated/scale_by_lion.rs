//! Lion's direction, without the learning rate.

use crate::axis::ExamplesReduced;
use crate::extent::Leaf;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_lion",
    family: Family::Aggregated,
    summary: "sign(b1 * m + (1 - b1) * g); m <- b2 * m + (1 - b2) * g",
    reference: "Chen et al., 2023, arXiv 2302.06675",
    arguments: ARGUMENTS,
    build: |args| {
        let mut link = scale_by_lion();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

pub(crate) const ARGUMENTS: &[Argument] = &[
    Argument::optional("b1", "0.9"),
    Argument::optional("b2", "0.99"),
    Argument::optional("mode", "hard"),
    Argument::optional("smooth_beta", "1"),
];

/// The function that takes the place of the sign in [`scale_by_lion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LionMode {
    /// The sign.
    Hard,
    /// `tanh(smooth_beta * x)`.
    Smooth,
    /// `x` itself between -1 and 1, the sign outside.
    Refined,
}

/// Lion's direction, without the learning rate. Built by [`scale_by_lion`].
#[derive(Clone, Debug)]
pub struct ScaleByLion {
    pub(crate) b1: Hyper,
    pub(crate) b2: Hyper,
    mode: LionMode,
    smooth_beta: Hyper,
}

/// Takes the sign of a mixture of momentum and gradient: `sign(b1 * m + (1 - b1) * g)`, then
/// `m <- b2 * m + (1 - b2) * g`. Defaults: b1 0.9, b2 0.99, mode hard.
///
/// The sign may be made smooth, or linear near 0: see [`LionMode`].
///
/// # State
/// `scale_by_lion.moment`, in the shape of the parameters.
///
/// # Errors
/// `b1` and `b2` must be from 0 to 1.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_lion(), scale(-1e-4)))).is_ok());
/// ```
///
/// # Reference
/// Chen et al., 2023, arXiv 2302.06675, algorithm 2.
pub fn scale_by_lion() -> ScaleByLion {
    ScaleByLion {
        b1: 0.9.into(),
        b2: 0.99.into(),
        mode: LionMode::Hard,
        smooth_beta: 1.0.into(),
    }
}

impl ScaleByLion {
    hyper_setters! {
        /// The share of the momentum in the direction.
        b1;
        /// The decay of the momentum.
        b2;
        /// The factor in `tanh` of [`LionMode::Smooth`].
        smooth_beta;
    }

    /// The function that takes the place of the sign.
    #[must_use]
    pub fn mode(mut self, mode: LionMode) -> Self {
        self.mode = mode;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(
        &mut self,
        args: &mut crate::spec::Arguments<'_>,
    ) -> Result<(), crate::Error> {
        args.set_hyper("b1", &mut self.b1)?;
        args.set_hyper("b2", &mut self.b2)?;
        args.set_hyper("smooth_beta", &mut self.smooth_beta)?;
        match args.choice("mode", &["hard", "smooth", "refined"])? {
            Some("smooth") => self.mode = LionMode::Smooth,
            Some("refined") => self.mode = LionMode::Refined,
            Some(_) => self.mode = LionMode::Hard,
            None => {}
        }
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByLion {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let b1 = cx.hyper("b1", &self.b1.or_named("b1"), Domain::Share);
        let b2 = cx.hyper("b2", &self.b2.or_named("b2"), Domain::Share);
        let moment = cx.slot::<Leaf>("moment", 0.0);
        let mixture = moment.before() * &b1 + &x * (1.0 - b1);
        let next = moment.before() * &b2 + x * (1.0 - b2);
        cx.set(moment, &next);
        let direction = match self.mode {
            LionMode::Hard => mixture.sign(),
            LionMode::Smooth => {
                let steepness = self.smooth_beta.or_named("smooth_beta");
                (mixture * cx.hyper("smooth_beta", &steepness, Domain::Finite)).tanh()
            }
            LionMode::Refined => mixture.max(-1.0).min(1.0),
        };
        direction.as_input()
    }
}
