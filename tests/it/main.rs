//! The integration tests of pergrad, one binary because linking burn is slow.

mod capture;
mod cases;
mod edges;
mod errors;
mod executors;
mod explain;
mod explain_aliases;
mod forms;
#[cfg(feature = "cuda")]
mod gpu;
mod hostile;
mod kernels;
mod layers;
mod leafwise;
mod models;
mod noise;
mod operations;
mod optimizer;
mod parity;
mod parts;
mod placement;
mod privacy;
mod readme;
mod records;
mod settings;
mod shelf;
mod steady;
mod streamed;
