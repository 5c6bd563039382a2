//! The noisy mean of clipped examples.

use super::sum;
use crate::aggregated::add_gaussian_noise;
use crate::axis::{Aggregated, ExamplesApart};
use crate::combine::chain;
use crate::hyper::{Domain, Hyper};
use crate::per_example::{ClipPerExample, clip_per_example};
use crate::random::Seed;
use crate::spec::{Argument, Arguments, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "differentially_private_aggregate",
    family: Family::OverExamples,
    summary: "(sum of clip_per_example(clip_norm) + noise_multiplier * clip_norm * z) / expected_batch_size",
    reference: "Abadi et al., 2016, arXiv 1607.00133",
    arguments: &[
        Argument::required("clip_norm"),
        Argument::required("noise_multiplier"),
        Argument::required("expected_batch_size"),
        Argument::optional("over", "all"),
        Argument::optional("drop_nonfinite", "true"),
        Argument::optional("seed", "random"),
    ],
    build: |args| {
        Ok(Link::per_example(DifferentiallyPrivateAggregate::read(
            args,
        )?))
    },
};

/// The noisy mean of clipped examples. Built by [`differentially_private_aggregate`].
#[derive(Clone, Debug)]
pub struct DifferentiallyPrivateAggregate {
    clip_norm: Hyper,
    noise_multiplier: Hyper,
    expected_batch_size: Hyper,
    clip: ClipPerExample,
    seed: Seed,
}

/// Clips each example to `clip_norm`, adds the examples up, adds noise of standard deviation `noise_multiplier * clip_norm` to the
/// sum, and divides by `expected_batch_size`: `[B, ..p] -> [..p]`.
///
/// It is `chain((clip_per_example(C), sum(), add_gaussian_noise(sigma, seed).unit(C), scale(1 / expected_batch_size)))`. Adding or
/// leaving out one example changes the sum by at most `C`, so a step is a Gaussian mechanism of noise multiplier `sigma`; see
/// [`privacy`](crate::privacy) for what many of them cost. That holds for batches of a
/// [`PoissonSampler`](crate::privacy::PoissonSampler), whose size varies. The divisor is the expected size, since the size of a
/// batch tells of the examples too.
///
/// Its hyper-parameters are named `clip_norm` and `noise_multiplier`, without the link. The metrics of
/// [`clip_per_example`](crate::clip_per_example()) are exact, so they are *not* private.
///
/// # Seeds
/// Unless [`seed`](DifferentiallyPrivateAggregate::seed) is called, the seed is of [`Seed::from_os`], and it is not in the state that
/// is saved: a chain that is built again goes on with other noise after a saved state is loaded. Give the same seed again for results
/// that are equal bit by bit. Replicas on several devices must be built with one and the same seed, or each adds other noise and they
/// drift apart.
///
/// # Units
/// `clip_norm` has the unit of the gradients, `expected_batch_size` is in examples, and `noise_multiplier` has none.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | noise only |
/// | `noise_multiplier` 0 | the sum of the clipped examples, exact, over the expected size |
/// | `clip_norm` 0 | zeros, without noise |
/// | `clip_norm` near 1e-19 or below, in f32 | not private: norms below about 1e-19 underflow to 0, so longer examples than the bound are not clipped; stay far above, at 1e-15 or more |
/// | an example with a NaN or an infinity | counts as zeros, see [`drop_nonfinite`](DifferentiallyPrivateAggregate::drop_nonfinite) |
///
/// # Errors
/// `clip_norm` and `noise_multiplier` must be finite and not negative, `expected_batch_size` finite and above 0.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let private = chain((differentially_private_aggregate(1.0, 1.1, 256), scale_by_adam(), scale(-1e-3)));
/// assert!(optimizer_program(&private).is_ok());
/// ```
///
/// # Reference
/// Abadi et al., 2016, arXiv 1607.00133, algorithm 1. optax's function of this name divides by the size of the batch that came, and
/// passes NaN on.
pub fn differentially_private_aggregate(
    clip_norm: impl Into<Hyper>,
    noise_multiplier: impl Into<Hyper>,
    expected_batch_size: impl Into<Hyper>,
) -> DifferentiallyPrivateAggregate {
    let clip_norm = clip_norm.into().or_named("clip_norm");
    DifferentiallyPrivateAggregate {
        // A bound in general may be infinite, but noise in units of it may not.
        clip: clip_per_example(clip_norm.clone())
            .finite()
            .drop_nonfinite(true),
        clip_norm,
        noise_multiplier: noise_multiplier.into(),
        expected_batch_size: expected_batch_size.into(),
        seed: Seed::from_os(),
    }
}

impl DifferentiallyPrivateAggregate {
    /// Clips each leaf on its own, to `clip_norm / sqrt(number of leaves)`. The noise is the same.
    #[must_use]
    pub fn per_leaf(mut self) -> Self {
        self.clip = self.clip.per_leaf();
        self
    }

    /// Clips each leaf on its own, to `clip_norm * sqrt(its elements / all elements)`. The noise is the same.
    #[must_use]
    pub fn per_leaf_by_size(mut self) -> Self {
        self.clip = self.clip.per_leaf_by_size();
        self
    }

    /// With `false`, a NaN in an example reaches the updates, which then tell that it was there; by default the example, or with
    /// bounds for each leaf its leaf, counts as zeros.
    #[must_use]
    pub fn drop_nonfinite(mut self, drop: bool) -> Self {
        self.clip = self.clip.drop_nonfinite(drop);
        self
    }

    /// What the noise begins with; a seed of the operating system unless set. See [`Seed`].
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// From the arguments of a specification.
    pub(crate) fn read(args: &mut Arguments<'_>) -> Result<Self, crate::Error> {
        let mut link = differentially_private_aggregate(
            args.hyper("clip_norm")?,
            args.hyper("noise_multiplier")?,
            args.hyper("expected_batch_size")?,
        );
        link.clip = link.clip.read(args)?;
        Ok(link.seed(args.seed()?))
    }
}

impl<In: ExamplesApart> Transform<In> for DifferentiallyPrivateAggregate {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let noise = self.noise_multiplier.or_named("noise_multiplier");
        let noise = add_gaussian_noise(noise, self.seed.clone()).unit(self.clip_norm.clone());
        let noisy = cx.apply(&chain((&self.clip, sum(), noise)), x.apart());
        let expected = &self.expected_batch_size;
        noisy / cx.hyper("expected_batch_size", expected, Domain::Positive)
    }
}
