//! Which examples to train on next: those of large gradients more often, with weights that keep the mean what it is.
//!
//! ```
//! use pergrad_transforms::prelude::*;
//! use pergrad_transforms::sampler::NormSampler;
//!
//! let mut sampler = NormSampler::new(1000).unwrap().mix(0.2).unwrap();
//! let chain = optimizer_program(&chain((scale_per_example("importance"), adam(1e-3)))).unwrap();
//! for step in 0..3 {
//!     let draws = sampler.sample(64, step);
//!     let indices: Vec<usize> = draws.iter().map(|draw| draw.index).collect();
//!     let importance: Vec<f64> = draws.iter().map(|draw| draw.weight).collect();
//!     // A batch of these examples, and a step of the chain with the extra `importance`, which gives the norms.
//!     let norms = vec![1.0; 64];
//!     sampler.update(&indices, &norms).unwrap();
//! }
//! assert_eq!(chain.extras()[0].name, "importance");
//! ```

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::hyper::Domain;

/// Draws examples of a data set by the norms of their gradients, as far as these are known.
///
/// Example i is drawn with the probability `p_i = ((1 - mix) * n_i + mix * mean n) / (N * mean n)`, where `n_i` is the estimate of its
/// norm, and its gradient counts with the weight `1 / (N p_i)`. So the mean of weight times gradient over the draws is right on
/// average, whatever the estimates are: they change its variance only. With exact norms that variance is least for `mix` 0 and never
/// above that of drawing all alike; `mix` bounds the weights by `1 / mix` where the estimates are old or wrong.
///
/// An example without an estimate counts as one of the mean norm, so that new examples are drawn like others.
///
/// Serde data is checked as [`new`](Self::new), the other builders and [`update`](Self::update) check.
///
/// # Edge cases
/// | estimates | probabilities |
/// |--|--|
/// | none yet | all alike, weights 1 |
/// | all 0 | all alike, weights 1 |
/// | one 0 | `mix / N`: it is still drawn, since its gradient may be another by now |
///
/// # Reference
/// The probabilities of least variance are those of Zhao and Zhang, 2015, arXiv 1401.2753, and Alain et al., 2015, arXiv 1511.06481;
/// Goodfellow, 2015, arXiv 1510.01799, has the norms for such use. The mixture is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawNormSampler")]
pub struct NormSampler {
    estimates: Vec<Option<Estimate>>,
    mix: f64,
    smoothing: f64,
    stale_after: Option<u64>,
    updates: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNormSampler {
    estimates: Vec<Option<Estimate>>,
    mix: f64,
    smoothing: f64,
    stale_after: Option<u64>,
    updates: u64,
}

impl TryFrom<RawNormSampler> for NormSampler {
    type Error = Error;

    fn try_from(raw: RawNormSampler) -> Result<Self, Error> {
        let empty = Self::new(raw.estimates.len())?
            .mix(raw.mix)?
            .smoothing(raw.smoothing)?;
        for (index, estimate) in raw.estimates.iter().enumerate() {
            let Some(Estimate { norm, at }) = *estimate else {
                continue;
            };
            check_norm("norm_sampler.estimates", index, norm)?;
            if !(1..=raw.updates).contains(&at) {
                return Err(Error::Number {
                    name: format!("norm_sampler.estimates[{index}].at"),
                    expected: format!("from 1 to the number of updates, {}", raw.updates),
                    got: at.to_string(),
                });
            }
        }
        Ok(Self {
            estimates: raw.estimates,
            stale_after: raw.stale_after,
            updates: raw.updates,
            ..empty
        })
    }
}

/// What is known of the norm of an example.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Estimate {
    norm: f64,
    /// Which update it is of, from 1.
    at: u64,
}

/// An example that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Its position in the data set.
    pub index: usize,
    /// What its gradient is multiplied by.
    pub weight: f64,
}

impl NormSampler {
    /// A sampler of a data set of `examples` examples, of which nothing is known yet. `mix` is 0.1, without smoothing, and no estimate
    /// is too old.
    ///
    /// # Errors
    /// A data set without examples.
    pub fn new(examples: usize) -> Result<Self, Error> {
        if examples == 0 {
            return Err(Error::Number {
                name: "examples".to_owned(),
                expected: "at least 1".to_owned(),
                got: "0".to_owned(),
            });
        }
        Ok(Self {
            estimates: vec![None; examples],
            mix: 0.1,
            smoothing: 0.0,
            stale_after: None,
            updates: 0,
        })
    }

    /// The share of the probability that all examples have alike. 1 draws all alike.
    ///
    /// # Errors
    /// A share that is not above 0 and at most 1: with 0, an example of norm 0 would never be drawn again.
    pub fn mix(mut self, mix: f64) -> Result<Self, Error> {
        Domain::PositiveShare.check("norm_sampler.mix", mix)?;
        self.mix = mix;
        Ok(self)
    }

    /// How much of the old estimate is left when an example has a new norm: `n <- smoothing * n + (1 - smoothing) * norm`. The first
    /// norm of an example is taken as it is.
    ///
    /// # Errors
    /// A number that is not at least 0 and below 1.
    pub fn smoothing(mut self, smoothing: f64) -> Result<Self, Error> {
        Domain::Decay.check("norm_sampler.smoothing", smoothing)?;
        self.smoothing = smoothing;
        Ok(self)
    }

    /// After how many further calls of [`update`](Self::update) an estimate is not used any more, as if the example were new.
    #[must_use]
    pub fn stale_after(mut self, updates: u64) -> Self {
        self.stale_after = Some(updates);
        self
    }

    /// The number of examples of the data set.
    pub fn examples(&self) -> usize {
        self.estimates.len()
    }

    /// What is known of the norm of an example: nothing if it had none yet, or a stale one.
    pub fn estimate(&self, index: usize) -> Option<f64> {
        let estimate = self.estimates.get(index).copied().flatten()?;
        let age = self.updates.saturating_sub(estimate.at);
        let stale = self.stale_after.is_some_and(|most| age > most);
        (!stale).then_some(estimate.norm)
    }

    /// Takes the norms of the gradients of some examples, which may be there several times, as draws are. If one of them is refused,
    /// nothing has changed.
    ///
    /// These are norms of the gradients themselves, before they are weighted.
    ///
    /// # Errors
    /// An index that is not in the data set; a norm that is NaN, infinite or negative; other counts of the two.
    pub fn update(&mut self, indices: &[usize], norms: &[f64]) -> Result<(), Error> {
        Error::check_length("norms", indices.len(), norms.len())?;
        for (at, (&index, &norm)) in indices.iter().zip(norms).enumerate() {
            if index >= self.examples() {
                return Err(Error::Number {
                    name: format!("indices[{at}]"),
                    expected: format!("below the number of examples, {}", self.examples()),
                    got: index.to_string(),
                });
            }
            check_norm("norms", at, norm)?;
        }
        self.updates = self.updates.saturating_add(1);
        for (&index, &norm) in indices.iter().zip(norms) {
            let norm = match self.estimate(index) {
                Some(old) => self.smoothing * old + (1.0 - self.smoothing) * norm,
                None => norm,
            };
            let at = self.updates;
            self.estimates[index] = Some(Estimate { norm, at });
        }
        Ok(())
    }

    /// The probability of each example.
    pub fn probabilities(&self) -> Vec<f64> {
        let estimates: Vec<_> = (0..self.examples()).map(|i| self.estimate(i)).collect();
        let known = || estimates.iter().flatten();
        let count = number(self.examples());
        // Divided by the largest first: the sum of finite norms may be infinite.
        let largest = known().fold(0.0_f64, |m, n| m.max(*n));
        if largest == 0.0 {
            return vec![1.0 / count; self.examples()];
        }
        let sum: f64 = known().map(|norm| norm / largest).sum();
        let mean = sum / number(known().count());
        let share = |estimate: &Option<f64>| {
            let relative = estimate.map_or(1.0, |norm| norm / largest / mean);
            ((1.0 - self.mix) * relative + self.mix) / count
        };
        estimates.iter().map(share).collect()
    }

    /// Draws `k` examples, one independent of the other, so that one may come several times. The same seed and estimates give the same
    /// draws on every machine; give each step another seed, such as its number.
    pub fn sample(&self, k: usize, seed: u64) -> Vec<Draw> {
        let probabilities = self.probabilities();
        let up_to = probabilities.iter().scan(0.0, |sum, p| {
            *sum += p;
            Some(*sum)
        });
        let up_to: Vec<f64> = up_to.collect();
        let last = up_to.len() - 1;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = || {
            let at = uniform(&mut random) * up_to[last];
            // The product may be rounded up to the whole sum.
            let index = up_to.partition_point(|sum| *sum <= at).min(last);
            let weight = 1.0 / (number(self.examples()) * probabilities[index]);
            Draw { index, weight }
        };
        (0..k).map(|_| draw()).collect()
    }
}

fn check_norm(name: &str, at: usize, norm: f64) -> Result<(), Error> {
    let fits = norm.is_finite() && norm >= 0.0;
    Error::check_number(name, at, norm, "finite and not negative", fits)
}

/// From 0 to below 1, in steps of 2^-53.
#[allow(clippy::cast_precision_loss)] // 53 bits fit
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[allow(clippy::cast_precision_loss)] // no data set has 2^53 examples
fn number(count: usize) -> f64 {
    count as f64
}
