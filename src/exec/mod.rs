//! Executors: what computes a plan on burn tensors.
//!
//! [`portable`] uses plain burn operations and runs on every backend. Every value is a matrix `[B or 1, P or 1]`, so that each
//! kind of value is a rank-2 tensor and broadcasting is burn's own; the gradients of a leaf that came as factors stay
//! [factored] as long as that is exact.

pub(crate) mod engine;
mod factored;
mod host_runner;
mod ops;
pub(crate) mod portable;
mod reduce;

pub use host_runner::HostRunner;
