//! Gaussian noise that fades.

use super::add_gaussian_noise::noisy;
use crate::axis::ExamplesReduced;
use crate::hyper::{Domain, Hyper};
use crate::random::Seed;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "add_noise",
    family: Family::Aggregated,
    summary: "g + sqrt(eta / (1 + t)^gamma) * z, z standard normal",
    reference: "Neelakantan et al., 2014, arXiv 1511.06807",
    arguments: &[
        Argument::required("eta"),
        Argument::required("gamma"),
        Argument::optional("seed", "random"),
    ],
    build: |args| {
        let (eta, gamma) = (args.hyper("eta")?, args.hyper("gamma")?);
        Ok(Link::aggregated(add_noise(eta, gamma, args.seed()?)))
    },
};

/// Gaussian noise that fades. Built by [`add_noise`].
#[derive(Clone, Debug)]
pub struct AddNoise {
    eta: Hyper,
    gamma: Hyper,
    seed: Seed,
}

/// Adds independent normal numbers of variance `eta / (1 + t)^gamma` to every element, where `t` steps were taken before.
///
/// `[..p] -> [..p]`. See [`random`](crate::random) for where the numbers come from.
///
/// # Units
/// `eta` has the unit of squared gradients; `gamma` has none.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `eta` 0 | unchanged, to the last bit |
/// | `gamma` 0 | the same variance at every step |
///
/// # Errors
/// `eta` and `gamma` must be finite and not negative: the noise would grow with a negative `gamma`.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), add_noise(0.01, 0.55, Seed::from(7))))).is_ok());
/// ```
///
/// # Reference
/// Neelakantan et al., 2014, arXiv 1511.06807, where `t` begins with 0 too. As optax, but with other numbers: it makes them with
/// a generator that is not meant to be secret.
pub fn add_noise(eta: impl Into<Hyper>, gamma: impl Into<Hyper>, seed: Seed) -> AddNoise {
    AddNoise {
        eta: eta.into(),
        gamma: gamma.into(),
        seed,
    }
}

impl<In: ExamplesReduced> Transform<In> for AddNoise {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let eta = cx.hyper("eta", &self.eta, Domain::NonNegative);
        let gamma = cx.hyper("gamma", &self.gamma, Domain::NonNegative);
        let stddev = (eta / (cx.step() + 1.0).pow(gamma)).sqrt();
        noisy(&x.reduced(), &stddev, &self.seed, cx).as_input()
    }
}
