//! The noisy mean of examples that are clipped at a quantile of their norms.

use crate::axis::{Aggregated, ExamplesApart};
use crate::error::Error;
use crate::extent::{Global, Leaf};
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::random::Seed;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "differentially_private_adaptive_aggregate",
    family: Family::OverExamples,
    summary: "differentially_private_aggregate, whose clip_norm follows a quantile of the norms",
    reference: "Andrew et al., 2019, arXiv 1905.03871",
    arguments: &[
        Argument::required("noise_multiplier"),
        Argument::required("expected_batch_size"),
        Argument::optional("initial_clip_norm", "0.1"),
        Argument::optional("target_quantile", "0.5"),
        Argument::optional("clip_learning_rate", "0.2"),
        Argument::optional("count_noise", "expected_batch_size / 20"),
        Argument::optional("seed", "random"),
    ],
    build: |args| {
        let noise = args.required_number("noise_multiplier")?;
        let mut link =
            differentially_private_adaptive_aggregate(noise, args.hyper("expected_batch_size")?);
        if let Some(clip_norm) = args.number("initial_clip_norm")? {
            link = link.initial_clip_norm(clip_norm);
        }
        args.set_hyper("target_quantile", &mut link.target_quantile)?;
        args.set_hyper("clip_learning_rate", &mut link.clip_learning_rate)?;
        link.count_noise = args.number("count_noise")?;
        Ok(Link::per_example(link.seed(args.seed()?)))
    },
};

/// The noisy mean of examples that are clipped at a quantile of their norms. Built by
/// [`differentially_private_adaptive_aggregate`].
#[derive(Clone, Debug)]
pub struct DifferentiallyPrivateAdaptiveAggregate {
    noise_multiplier: f64,
    expected_batch_size: Hyper,
    initial_clip_norm: f64,
    target_quantile: Hyper,
    clip_learning_rate: Hyper,
    count_noise: Option<f64>,
    seed: Seed,
}

/// [`differentially_private_aggregate`](crate::differentially_private_aggregate()) with a bound `C` that moves, step by step, to the
/// `target_quantile` of the norms of the examples.
///
/// ```text
/// b  = 1/2 + (sum_b ([||g_b|| <= C] - 1/2) + count_noise * z) / expected_batch_size
/// C <- C exp(-clip_learning_rate (b - target_quantile))
/// ```
///
/// The sum gets noise of `z_g * C` with `z_g = (noise_multiplier^-2 - (2 count_noise)^-2)^(-1/2)`, a little more than
/// `noise_multiplier`: so the sum and the count together are one Gaussian mechanism of `noise_multiplier`, which is what an
/// accountant is to be told. Both are the same at every step, so they are numbers and not schedules. With a `count_noise` of half of
/// `noise_multiplier` or less, no noise on the sum would be enough.
///
/// The metrics `.clip_norm`, before the step, and `.unclipped`, which is `b`, are private.
///
/// # State
/// `differentially_private_adaptive_aggregate.clip_norm`, one number.
///
/// # Units
/// `initial_clip_norm` has the unit of the gradients; `expected_batch_size` and `count_noise` are in examples.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | noise only, and `b` is 1/2 with its noise |
/// | `noise_multiplier` 0 | no noise on the sum; that on the count stays, unless `count_noise` is 0 too |
/// | an example with a NaN or an infinity | counts as zeros, and as longer than the bound |
/// | `clip_learning_rate` 0 | the bound stays |
///
/// # Errors
/// [`Error::Hyper`](crate::Error::Hyper) for
///
/// | argument | unless it is |
/// |--|--|
/// | `initial_clip_norm`, `expected_batch_size` | finite and above 0 |
/// | `noise_multiplier`, `clip_learning_rate` | finite and not negative |
/// | `target_quantile` | from 0 to 1 |
/// | `count_noise` | finite and not negative; more than half of `noise_multiplier`, if that is not 0 |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let private = chain((differentially_private_adaptive_aggregate(1.1, 256), scale(-0.1)));
/// assert!(optimizer_program(&private).is_ok());
/// ```
///
/// # Reference
/// Andrew et al., 2019, arXiv 1905.03871, algorithm 1 and theorem 1.
pub fn differentially_private_adaptive_aggregate(
    noise_multiplier: f64,
    expected_batch_size: impl Into<Hyper>,
) -> DifferentiallyPrivateAdaptiveAggregate {
    DifferentiallyPrivateAdaptiveAggregate {
        noise_multiplier,
        expected_batch_size: expected_batch_size.into(),
        initial_clip_norm: 0.1,
        target_quantile: 0.5.into(),
        clip_learning_rate: 0.2.into(),
        count_noise: None,
        seed: Seed::from_os(),
    }
}

impl DifferentiallyPrivateAdaptiveAggregate {
    hyper_setters! {
        /// The share of the examples that are not to be clipped; 0.5 unless set.
        target_quantile;
        /// How fast the bound moves; 0.2 unless set.
        clip_learning_rate;
    }

    /// The bound at the first step; 0.1 unless set.
    #[must_use]
    pub fn initial_clip_norm(mut self, clip_norm: f64) -> Self {
        self.initial_clip_norm = clip_norm;
        self
    }

    /// The standard deviation of the noise on the count; a twentieth of the expected batch size of the first step
    /// unless set.
    #[must_use]
    pub fn count_noise(mut self, stddev: f64) -> Self {
        self.count_noise = Some(stddev);
        self
    }

    /// What the noise begins with; a seed of the operating system unless set. See [`Seed`].
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// The standard deviation of the noise on the count.
    fn stddev_of_count(&self) -> f64 {
        let default = || self.expected_batch_size.at(0) / 20.0;
        self.count_noise.unwrap_or_else(default)
    }

    /// Checks the numbers, and that there is noise left for the sum.
    fn check(&self) -> Result<(), Error> {
        let named = |field: &str| format!("differentially_private_adaptive_aggregate.{field}");
        let (noise, count) = (self.noise_multiplier, self.stddev_of_count());
        Domain::Positive.check(&named("initial_clip_norm"), self.initial_clip_norm)?;
        Domain::NonNegative.check(&named("noise_multiplier"), noise)?;
        if self.count_noise.is_some() {
            Domain::NonNegative.check(&named("count_noise"), count)?;
        }
        if noise > 0.0 && 2.0 * count <= noise {
            return Err(Error::Hyper {
                name: named("count_noise"),
                expected: format!("more than half of `noise_multiplier`, which is {noise}"),
                got: count.to_string(),
            });
        }
        Ok(())
    }

    /// The noise multiplier of the sum: together with the noise on the count it is that of the whole.
    fn multiplier_of_sum(&self) -> f64 {
        // Below 1, even when rounded.
        let share = self.noise_multiplier / (2.0 * self.stddev_of_count());
        self.noise_multiplier / ((1.0 - share) * (1.0 + share)).sqrt()
    }
}

impl<In: ExamplesApart> Transform<In> for DifferentiallyPrivateAdaptiveAggregate {
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.apart();
        let expected = &self.expected_batch_size;
        let expected = cx.hyper("expected_batch_size", expected, Domain::Positive);
        self.check().unwrap_or_else(|error| cx.fail(error));
        let quantile = cx.hyper("target_quantile", &self.target_quantile, Domain::Share);
        let rate = &self.clip_learning_rate;
        let rate = cx.hyper("clip_learning_rate", rate, Domain::NonNegative);

        let slot = cx.slot::<Global>("clip_norm", self.initial_clip_norm);
        let bound = slot.before();
        let norm = x.norm();
        let clipped = (x * norm.weight_within(&bound)).keep_where(&norm.is_finite(), 0.0);

        let mut sum = clipped.sum();
        if self.noise_multiplier > 0.0 {
            let stddev = &bound * self.multiplier_of_sum();
            sum = sum + cx.normal::<Leaf>("noise", &self.seed) * stddev;
        }

        // Half an example less for each: then one example changes the count by 1/2 only.
        let sides = norm.le(&bound).as_number() - 0.5;
        let count_noise = cx.normal::<Global>("count_noise", &self.seed) * self.stddev_of_count();
        let count = sides.sum() + count_noise;
        let unclipped = count / &expected + 0.5;
        let next = (-rate * (&unclipped - quantile)).exp() * &bound;
        cx.set(slot, &next);
        cx.emit("clip_norm", &bound);
        cx.emit("unclipped", &unclipped);
        sum / expected
    }
}
