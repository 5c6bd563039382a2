//! The gradient noise scale of all layers and of some, and a batch size that follows it (Gray et al., arXiv 2411.00999).
//!
//! The noise scale is the batch size at which noise and signal of the mean gradient are equal. The paper says that the normalization
//! layers, whose per-example norms come for free with their backward pass, are sufficient to predict that of the whole model, and
//! that a batch size that grows with it saves time.
//!
//! | part | what | guaranteed? |
//! |--|--|--|
//! | [`identities`] | the monitor against norms and a loop in f64; a batch in parts | yes |
//! | [`stationary`] | small and large batches agree where the noise is known | yes, within sampling error |
//! | [`track`] | the scale of all layers against that of each type | no: observed |
//! | [`policies`] | fixed, growing and guided batch sizes at equal tokens | no: observed |
//! | [`cost`] | time and passes with and without monitors | no: observed |

pub mod cost;
pub mod identities;
pub mod policies;
mod settings;
pub mod stationary;
pub mod track;
pub mod watch;

pub use settings::Settings;

use crate::progress;
use crate::report::Report;

/// Runs the study.
///
/// # Errors
/// Settings that make no study; each error says what was expected and the way out.
pub fn run(settings: &Settings) -> Result<Report, Box<dyn std::error::Error>> {
    settings.check()?;
    let mut report = Report::new("gns", settings);
    let steps = settings.steps + policies::micro_batches(settings) + 4 * (settings.timed + 1);
    let bar = progress::bar(steps);

    let identities = identities::ask(settings)?;
    report.tables.push(identities::table(&identities));
    report.findings.push(format!(
        "A batch in two parts: G^2 and S of every group differ from those of the whole by {:.1e} at most, so the monitors see the whole batch",
        identities.largest_difference()
    ));

    let (estimates, truth) = stationary::estimate(settings)?;
    report.tables.push(stationary::table(&estimates, truth));

    let tracks = track::run(settings, &bar)?;
    report.tables.push(track::table(settings, &tracks));
    report.pictures.push(track::scatter(settings, &tracks));
    report.findings.extend(track::findings(settings, &tracks));

    let runs = policies::run(settings, &bar)?;
    report.tables.push(policies::table(settings, &runs));
    report.pictures.push(policies::over_tokens(&runs));

    let costs = cost::measure(settings, &bar)?;
    report.tables.push(cost::table(&costs));
    bar.finish_and_clear();
    Ok(report)
}
