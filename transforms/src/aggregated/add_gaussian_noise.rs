//! Gaussian noise.

use crate::axis::{Aggregated, ExamplesReduced};
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper};
use crate::random::Seed;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "add_gaussian_noise",
    family: Family::Aggregated,
    summary: "g + stddev * unit * z, z standard normal",
    reference: "",
    arguments: &[
        Argument::required("stddev"),
        Argument::optional("unit", "1"),
        Argument::optional("seed", "random"),
    ],
    build: |args| {
        let stddev = args.hyper("stddev")?;
        let link = add_gaussian_noise(stddev, args.seed()?);
        Ok(Link::aggregated(match args.optional_hyper("unit")? {
            Some(unit) => link.unit(unit),
            None => link,
        }))
    },
};

/// Gaussian noise. Built by [`add_gaussian_noise`].
#[derive(Clone, Debug)]
pub struct AddGaussianNoise {
    stddev: Hyper,
    unit: Option<Hyper>,
    seed: Seed,
}

/// Adds independent normal numbers of mean 0 and standard deviation `stddev` to every element, other ones at each step.
///
/// `[..p] -> [..p]`. See [`random`](crate::random) for where the numbers come from.
///
/// # Units
/// `stddev` has the unit of the gradients.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `stddev` or the unit 0 | unchanged, to the last bit; no numbers are made |
/// | an element that is NaN or infinite | stays so |
/// | a model without parameters | nothing |
///
/// # Errors
/// `stddev` and the unit must be finite and not negative.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let noisy = chain((mean(), add_gaussian_noise(0.1, Seed::from(7)), scale_by_learning_rate(1e-3)));
/// assert!(program(&noisy).is_ok());
/// ```
pub fn add_gaussian_noise(stddev: impl Into<Hyper>, seed: Seed) -> AddGaussianNoise {
    AddGaussianNoise {
        stddev: stddev.into(),
        unit: None,
        seed,
    }
}

impl AddGaussianNoise {
    /// What `stddev` is a multiple of: the noise has the standard deviation `stddev * unit`. A bound on the sensitivity makes
    /// `stddev` the noise multiplier of a private mechanism.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<Hyper>) -> Self {
        self.unit = Some(unit.into());
        self
    }
}

/// Adds noise of this standard deviation, with the numbers `"link.noise"`.
pub(crate) fn noisy(
    x: &Value<Aggregated>,
    stddev: &Value<Aggregated, Global>,
    seed: &Seed,
    cx: &Tracer,
) -> Value<Aggregated> {
    let noise = cx.normal::<Leaf>("noise", seed) * stddev;
    // Where it is 0 the numbers are not even made, and -0 stays what it is.
    stddev.equal(0.0).select(x, x + noise)
}

impl<In: ExamplesReduced> Transform<In> for AddGaussianNoise {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let stddev = cx.hyper("stddev", &self.stddev, Domain::NonNegative);
        let stddev = match &self.unit {
            None => stddev,
            Some(unit) => stddev * cx.hyper("unit", unit, Domain::NonNegative),
        };
        noisy(&x.reduced(), &stddev, &self.seed, cx).as_input()
    }
}
