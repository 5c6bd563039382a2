//! Batches in which each example is by chance, by itself.

use chacha20::rand_core::Rng;

use super::require;
use crate::error::Error;
use crate::random::{Key, Seed, uniform};

/// The part of the seed that samples; streams of noise have small numbers.
const SAMPLING: u64 = u64::MAX;

/// Batches for differentially private training: each example is in each batch with the same probability, whoever else is. Their
/// sizes vary, and a batch may be empty: step with it all the same.
///
/// An iterator without end over lists of ascending numbers of examples. Batch `t` is a function of the seed and `t`, made by the
/// cryptographic generator of [`random`](crate::random).
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// use pergrad_transforms::privacy::PoissonSampler;
///
/// let sampler = PoissonSampler::new(1000, 0.01, Seed::from(7)).unwrap();
/// let examples: usize = sampler.take(100).map(|batch| batch.len()).sum();
/// assert!((900..1100).contains(&examples));
/// ```
#[derive(Clone, Debug)]
pub struct PoissonSampler {
    examples: usize,
    rate: f64,
    key: Key,
    next: u64,
}

impl PoissonSampler {
    /// Batches of a data set of `examples` examples, each of which is in a batch with probability `rate`. The expected size is the
    /// product.
    ///
    /// # Errors
    /// `rate` must be from 0 to 1.
    pub fn new(examples: usize, rate: f64, seed: Seed) -> Result<Self, Error> {
        let is_share = (0.0..=1.0).contains(&rate);
        require(is_share, "rate", "a number from 0 to 1", rate)?;
        Ok(Self {
            examples,
            rate,
            key: seed.key(SAMPLING),
            next: 0,
        })
    }

    /// Goes on with batch `step`, as a run that is restored does.
    #[must_use]
    pub fn starting_at(mut self, step: u64) -> Self {
        self.next = step;
        self
    }

    /// The batch of a step.
    pub fn batch(&self, step: u64) -> Vec<usize> {
        let mut generator = self.key.generator(step);
        // All numbers are drawn, so that each example has its own.
        let mut is_in = |_: &usize| uniform(generator.next_u64()) <= self.rate;
        (0..self.examples)
            .filter(|example| is_in(example))
            .collect()
    }
}

impl Iterator for PoissonSampler {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        let batch = self.batch(self.next);
        self.next += 1;
        Some(batch)
    }
}
