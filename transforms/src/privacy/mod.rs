//! What differentially private training costs: an accountant, the noise for a budget, and batches by chance.
//!
//! A step of [`differentially_private_aggregate`](crate::differentially_private_aggregate()) over a batch of a [`PoissonSampler`] is the
//! *Poisson-subsampled Gaussian mechanism*. Its Rényi divergences add up over the steps, and give an (ε, δ) at the end:
//!
//! ```
//! use pergrad_transforms::privacy;
//!
//! // 60000 examples, about 256 a batch, 60 epochs.
//! let (rate, steps) = (256.0 / 60_000.0, 60 * 60_000 / 256);
//! let epsilon = privacy::epsilon(1.1, rate, steps, 1e-5).unwrap();
//! assert!((epsilon - 2.6).abs() < 0.1);
//! let sigma = privacy::noise_multiplier(epsilon, 1e-5, rate, steps).unwrap();
//! assert!((sigma - 1.1).abs() < 1e-3);
//! ```
//!
//! Neighbours are data sets that differ by one example, which one has and the other has not.
//!
//! # What is assumed
//! | the accountant says | the training must |
//! |--|--|
//! | each example is in each batch with probability `rate`, by itself | draw batches by [`PoissonSampler`], and step with empty ones too; shuffling and cutting is another mechanism, for which this is no bound |
//! | one example changes the sum by at most the clip norm | clip each example, not the mean of some |
//! | noise has `sigma` times the clip norm, on the sum | divide afterwards, by a number that does not depend on the batch |
//! | nothing else is shown | keep exact losses, metrics and counts of examples to itself |
//! | the noise of each step is drawn once, for the whole sum | build the replicas on several devices with one and the same seed |
//! | numbers are real numbers | keep clip norms far above what the element type can square: in f32, norms below about 1e-19 underflow to 0, and such examples are not clipped; 1e-15 is far enough |
//!
//! # Saved runs
//! The seed of the noise is not in the state that is saved. The default is [`Seed::from_os`](crate::random::Seed::from_os), so a chain
//! that is built again goes on with other noise after a saved state is loaded. That is as private, but not the same run: for results
//! that are equal bit by bit, give the seed, and give it again. An [`RdpAccountant`] and the step of a [`PoissonSampler`] are to be saved
//! too.

mod accountant;
mod convert;
mod poisson_sampler;
mod renyi;

pub use accountant::{RdpAccountant, epsilon, noise_multiplier};
pub use convert::{delta_of_rdp, epsilon_of_rdp, epsilon_of_rdp_classic};
pub use poisson_sampler::PoissonSampler;
pub use renyi::rdp_subsampled_gaussian;

use crate::error::Error;

/// The error about an argument that makes no sense, unless it does.
fn require(holds: bool, name: &str, expected: &str, got: f64) -> Result<(), Error> {
    if holds {
        return Ok(());
    }
    Err(Error::Hyper {
        name: format!("privacy.{name}"),
        expected: expected.to_owned(),
        got: got.to_string(),
    })
}
