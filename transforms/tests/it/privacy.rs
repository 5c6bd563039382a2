//! Differential privacy: noisy aggregates, what they cost, and batches by chance.

mod accountant;
mod adaptive;
mod aggregates;
mod renyi;
mod sampler;
mod small_rates;

/// The links whose values are checked here.
pub(crate) fn names() -> [String; 3] {
    [
        "differentially_private_adaptive_aggregate",
        "differentially_private_aggregate",
        "dpsgd",
    ]
    .map(str::to_owned)
}
