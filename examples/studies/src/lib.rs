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
//! | [`sign_placement`] | Roulet and Agarwala, arXiv 2510.00236: where a sign is best placed |
//! | [`example_norms`] | Goodfellow, 2015, arXiv 1510.01799 |
//! | [`interference`] | Avranas, 2026, arXiv 2607.16261 |
//! | [`adam_preconditioner`] | Roulet and Agarwala, arXiv 2510.00236 |
//! | [`gns`] | Gray, Tiwari, Bergsma and Hestness, arXiv 2411.00999 |

pub mod adam_preconditioner;
pub mod classifier;
pub mod cnn;
pub mod digits;
pub mod example_norms;
pub mod gns;
pub mod interference;
pub mod mlp;
pub mod picture;
pub mod progress;
pub mod quadratic;
pub mod random;
pub mod refused;
pub mod report;
pub mod sample;
pub mod sign_placement;
pub mod table;
pub mod text;
pub mod transformer;
