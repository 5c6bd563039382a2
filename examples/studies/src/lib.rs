//! Four papers on per-example gradients, as studies that run on a laptop.
//!
//! Each study takes its sizes from the command line, prints tables, and writes them as JSON, with pictures beside it, into `--out`:
//!
//! ```text
//! cargo run --release -p pergrad-studies --bin sign_placement -- --help
//! ```
//!
//! | study | paper |
//! |--|--|
//! | [`adam_preconditioner`] | Roulet and Agarwala, arXiv 2510.00236 |
//! | [`gns`] | Gray, Tiwari, Bergsma and Hestness, arXiv 2411.00999 |

pub mod adam_preconditioner;
pub mod gns;
pub mod picture;
pub mod progress;
pub mod quadratic;
pub mod random;
pub mod refused;
pub mod report;
pub mod sample;
pub mod table;
pub mod text;
pub mod transformer;
