//! Which second moment Adam shall divide by (Roulet and Agarwala, arXiv 2510.00236).
//!
//! Adam divides by the root of an average of the squared mean gradient. With the examples apart there are others, for a gradient
//! of mean mu and variance s2 in batches of B:
//!
//! | optimizer | second moment | expectation | whose formula |
//! |--|--|--|--|
//! | Adam | square of the mean | mu^2 + s2/B | derived |
//! | MicroAdam | mean of the squares | mu^2 + s2 | the paper's |
//! | MicroAdamVar | unbiased variance | s2 | our reading |
//! | MicroAdamMSQ | unbiased square of the mean, clamped at 0 after averaging | mu^2 | our reading |
//! | `adam_interpolation(a, c)` | a of the last, c of the one before | a mu^2 + c s2 | derived |
//!
//! [`moments`] measures the expectations where they are known. [`grid`] trains a small transformer with six members of the family, with and
//! without a clipped update, over batch sizes and learning rates. The clip is ours too: a bound on the norm of the whole update
//! (`clip_by_global_norm` after preconditioner and learning rate). Whether the paper clips there is not known to us.
//!
//! "MicroAdam" also names an unrelated optimizer that saves memory (arXiv 2405.15593).

pub mod family;
pub mod grid;
pub mod moments;
mod settings;
mod tables;

pub use settings::Settings;

use crate::progress;
use crate::report::Report;

/// Runs the study.
///
/// # Errors
/// Settings that make no study; each error says what was expected and the way out.
pub fn run(settings: &Settings) -> Result<Report, Box<dyn std::error::Error>> {
    settings.check()?;
    let mut report = Report::new("adam_preconditioner", settings);
    let measured = moments::measure(settings)?;
    report.tables.push(moments::table(&measured));
    let sizes = settings.batch_sizes.len() * settings.learning_rates.len();
    let bar = progress::bar(2 * family::members(2).len() * sizes);
    let rows = grid::run(settings, &bar)?;
    bar.finish_and_clear();
    tables::write(settings, &rows, &mut report);
    Ok(report)
}
