//! The integration tests of pergrad, one binary because linking burn is slow.

mod capture;
mod cases;
mod errors;
mod executors;
mod forms;
mod layers;
mod models;
mod operations;
mod optimizer;
mod parity;
mod readme;
mod settings;
mod streamed;
