//! **pergrad**: optimizers that see the gradient of every example.
//!
//! An optimizer is a chain of typed links, as in optax, but the gradients that enter it still have their batch axis: reductions
//! and non-linearities (mean, sign, square, clip, ...) may stand anywhere in the chain, and a wrong order does not compile. It
//! runs on [burn].
//!
//! ```
//! use burn::nn::LinearConfig;
//! use burn::tensor::{Device, Tensor};
//! use pergrad::prelude::*;
//! use pergrad::{Optimizer, nn::Linear, per_example_grads};
//!
//! let device = Device::default().autodiff();
//! let mut model = Linear::new(&LinearConfig::new(1, 1).with_bias(false), &device);
//! let (x, y) = (Tensor::<2>::ones([4, 1], &device), Tensor::<2>::from_floats([[0.0], [2.0], [4.0], [6.0]], &device));
//!
//! // The second moment of the examples, not of their mean: move `mean()` and it is Adam.
//! let mut optimizer = Optimizer::new(micro_adam(0.1)).unwrap();
//! for _ in 0..10 {
//!     let (_losses, grads) = per_example_grads(&model, |m| {
//!         let error = m.forward(x.clone()) - y.clone();
//!         (error.clone() * error).mul_scalar(0.5).flatten(0, 1) // one loss for each example, never their mean
//!     })
//!     .unwrap();
//!     model = optimizer.step(model, grads).unwrap();
//! }
//! println!("{}", optimizer.program());
//! ```
//!
//! # The map of the house
//! | where | what |
//! |--|--|
//! | [`transforms`] (crate `pergrad-transforms`) | the algebra: links, chains, programs, the reference on `ndarray`; no burn |
//! | [`grads`] | the gradients, with the batch axis in front, in full or as factors |
//! | [`capture`], [`nn`] | where they come from: surgery of the autodiff graph, and the layers that take part in it |
//! | `plan` | in which order a program is computed, and what is kept for how long |
//! | `exec`, [`HostRunner`] | computing a plan on burn tensors |
//! | `kernel` | what is computed of a leaf in one pass |
//! | `backend` | the operations that burn does not have |
//! | [`predict_placement`], [`GradientStatistics`] | where a sign is best placed, from what the gradients of single examples are |
//! | [`Optimizer`] | a chain with its state, stepping a model |
//! | [`Leafwise`], [`Record`] | a chain in the place of one of burn's optimizers, and state in burn's file format |
//! | [`Accumulated`], [`distributed`] | a batch that comes in parts, one after the other or on several devices |

mod backend;
pub mod capture;
pub mod distributed;
mod error;
mod exec;
mod fingerprint;
pub mod grads;
mod kernel;
mod model;
pub mod nn;
mod optimizer;
mod placement;
mod plan;

pub use capture::{
    Agreement, Reweighted, check_per_example_grads, clip_weights, per_example_grads,
    per_example_grads_looped, per_example_norms, per_token_grads, reweighted_grads,
};
pub use error::Error;
pub use exec::{HostRunner, NormMethod, Settings};
pub use grads::{PerExampleGrads, PerExampleGradsBuilder};
pub use optimizer::{
    Accumulated, Extras, LeafState, Leafwise, Optimizer, Record, Rejected, Updates,
};
pub use pergrad_transforms as transforms;
pub use placement::{GradientStatistics, PlacementPredictions, predict_placement};

/// Everything for writing chains and links; see [`pergrad_transforms::prelude`].
pub mod prelude {
    pub use pergrad_transforms::prelude::*;
}

/// The code of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
