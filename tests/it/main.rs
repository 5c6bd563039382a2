//! The integration tests of pergrad, one binary because linking burn is slow.

mod capture;
mod cases;
mod errors;
mod executors;
mod models;
mod optimizer;
mod parity;
mod readme;
