//! Executors: what computes a plan on burn tensors.
//!
//! [`portable`] takes a step: [`fused`] kernels where the backend has them, else plain operations, which run on every backend. Every
//! value is a matrix `[B or 1, P or B or 1]`, so that each kind of value is a rank-2 tensor and broadcasting is burn's own. The gradients
//! of a leaf that came as factors stay [factored] as long as that is exact; then a kernel computes their elements where it reads them, or
//! they are made in full, or [deferred] where that would be too large.

mod along;
mod cell;
mod deferred;
pub(crate) mod engine;
mod factored;
mod fused;
mod host_runner;
mod leaf;
pub(crate) mod merge;
mod noise;
mod norms;
mod ops;
pub(crate) mod portable;
mod reduce;
mod settings;
mod table;
pub(crate) mod trace;

pub(crate) use norms::sq_norms;

pub use host_runner::HostRunner;
pub use settings::{NormMethod, Settings};
