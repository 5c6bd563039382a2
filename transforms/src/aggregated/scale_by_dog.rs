//! The step of DoG, one for all leaves.

use super::moments::{number_from, start};
use crate::axis::ExamplesReduced;
use crate::error::Error;
use crate::extent::Global;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "scale_by_dog",
    family: Family::Aggregated,
    summary: "g * max over the steps of ||p - p_0|| / sqrt(sum of ||g||^2 + eps)",
    reference: "Ivgi et al., 2023, arXiv 2302.12022",
    arguments: &[
        Argument::optional("init_step", "heuristic"),
        Argument::optional("init_value", "1e-6"),
        Argument::optional("eps", "1e-8"),
    ],
    build: |args| {
        let mut link = scale_by_dog();
        link.read(args)?;
        Ok(Link::aggregated(link))
    },
};

/// What the first value of [`scale_by_dog`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DogInit {
    /// The first distance.
    Distance,
    /// The rate of the first step.
    LearningRate,
    /// The first distance, relative to `1 + ||p_0||`.
    Heuristic,
}

/// The step of DoG, one for all leaves. Built by [`scale_by_dog`].
#[derive(Clone, Debug)]
pub struct ScaleByDog {
    init_step: DogInit,
    pub(crate) init_value: Hyper,
    pub(crate) eps: Hyper,
}

/// Multiplies the gradient by the largest distance of the parameters from where they began, over the root of the sum of the squared
/// norms of the gradients. There is no learning rate to choose.
///
/// Defaults: init_step heuristic, init_value 1e-6, eps 1e-8.
///
/// # State
/// The first parameters, and two numbers.
///
/// # Edge cases
/// | gradient | result |
/// |--|--|
/// | zeros | zeros, also for eps 0 |
///
/// # Errors
/// `init_value` and `eps` must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale_by_dog()))).is_ok());
/// ```
///
/// # Reference
/// Ivgi et al., 2023, arXiv 2302.12022.
pub fn scale_by_dog() -> ScaleByDog {
    ScaleByDog {
        init_step: DogInit::Heuristic,
        init_value: 1e-6.into(),
        eps: 1e-8.into(),
    }
}

impl ScaleByDog {
    hyper_setters! {
        /// The first distance, the first rate, or the first distance relative to `1 + ||p_0||`.
        init_value;
        /// A number added to the root.
        eps;
    }

    /// What `init_value` is.
    #[must_use]
    pub fn init_step(mut self, init_step: DogInit) -> Self {
        self.init_step = init_step;
        self
    }

    /// Takes what a specification says.
    pub(crate) fn read(&mut self, args: &mut Arguments<'_>) -> Result<(), Error> {
        match args.choice("init_step", &["distance", "learning_rate", "heuristic"])? {
            Some("distance") => self.init_step = DogInit::Distance,
            Some("learning_rate") => self.init_step = DogInit::LearningRate,
            Some("heuristic") => self.init_step = DogInit::Heuristic,
            _ => {}
        }
        args.set_hyper("init_value", &mut self.init_value)?;
        args.set_hyper("eps", &mut self.eps)?;
        Ok(())
    }
}

impl<In: ExamplesReduced> Transform<In> for ScaleByDog {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let init_value = cx.hyper(
            "init_value",
            &self.init_value.or_named("init_value"),
            Domain::NonNegative,
        );
        let eps = cx.hyper("eps", &self.eps.or_named("eps"), Domain::NonNegative);
        let params = cx.params();
        let first = cx.step().equal(0.0);
        let reach = match self.init_step {
            DogInit::Distance => init_value.clone(),
            DogInit::Heuristic => (params.norm() + 1.0) * &init_value,
            DogInit::LearningRate => cx.constant(0.0),
        };
        let distance = (params - start(cx)).norm();
        let distance = number_from(cx, "distance", &reach, |before| before.max(distance));
        let square = x.sq_norm();
        let squares = cx.state::<Global>("squares", 0.0, |sum| sum + square);
        let rate = distance.div_or_zero((squares + eps).sqrt());
        let rate = match self.init_step {
            DogInit::LearningRate => first.select(init_value, rate),
            _ => rate,
        };
        (x * rate).as_input()
    }
}
