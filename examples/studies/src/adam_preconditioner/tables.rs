//! The tables, pictures and sentences about the trainings.

use super::Settings;
use super::grid::{Row, rate_exponent};
use crate::picture::{Picture, Scale};
use crate::report::Report;
use crate::table::{Entry, Table};

/// Adds everything about the trainings to the report.
pub(super) fn write(settings: &Settings, rows: &[Row], report: &mut Report) {
    for &examples in &settings.batch_sizes {
        let of_size = rows.iter().filter(|row| row.examples == examples);
        report.tables.push(losses(settings, examples, of_size));
    }
    report.tables.push(best(settings, rows));
    report.pictures.push(over_rates(settings, rows));
    findings(settings, rows, report);
}

/// The heat table of one batch size.
fn losses<'a>(settings: &Settings, examples: usize, rows: impl Iterator<Item = &'a Row>) -> Table {
    let title = format!(
        "B = {examples}: final loss on held-out text (nats), by second moment (a, c) and learning rate"
    );
    let mut table = Table::new(title, &["member", "update"]);
    let rates = settings.learning_rates.iter();
    table.columns.extend(rates.map(f64::to_string));
    for row in rows {
        let clipped = if row.clipped { "clipped" } else { "free" };
        let mut entries: Vec<Entry> = vec![row.member.into(), clipped.into()];
        entries.extend(row.losses.iter().map(|loss| Entry::from(*loss)));
        table.rows.push(entries);
    }
    table
}

/// The best of each member over the batch sizes, and how its learning rate grew.
fn best(settings: &Settings, rows: &[Row]) -> Table {
    let mut table = Table::new(
        "Best loss and best learning rate, by batch size; the exponent p of rate ~ B^p (the paper: 0.5 at small and medium B); -: at an end of the grid",
        &["member", "update"],
    );
    for size in &settings.batch_sizes {
        table.columns.push(format!("loss, B {size}"));
    }
    for size in &settings.batch_sizes {
        table.columns.push(format!("rate, B {size}"));
    }
    table.columns.push("exponent".to_owned());
    for (member, clipped) in kinds(rows) {
        let of_kind = of_kind(rows, member, clipped);
        let update = if clipped { "clipped" } else { "free" };
        let mut entries: Vec<Entry> = vec![member_name(member).into(), update.into()];
        entries.extend(of_kind.iter().map(|row| Entry::from(row.best())));
        for row in &of_kind {
            let rate = row.best_rate(&settings.learning_rates);
            entries.push(rate.map_or_else(|| "-".into(), Entry::from));
        }
        let exponent = rate_exponent(&of_kind, &settings.learning_rates);
        entries.push(exponent.map_or_else(|| Entry::from("-"), Entry::from));
        table.rows.push(entries);
    }
    table
}

/// The members, clipped or not, in the order of the first batch size.
fn kinds(rows: &[Row]) -> impl Iterator<Item = (&'static str, bool)> {
    let first = rows.first().map(|row| row.examples);
    let rows = rows.iter();
    rows.filter(move |row| Some(row.examples) == first)
        .map(|row| (row.member, row.clipped))
}

fn of_kind<'a>(rows: &'a [Row], member: &str, clipped: bool) -> Vec<&'a Row> {
    let rows = rows.iter();
    rows.filter(|row| row.member == member && row.clipped == clipped)
        .collect()
}

/// Without the `(a, c)`.
fn member_name(member: &str) -> &str {
    match member.split_once(" (") {
        Some((name, _)) if name != "between" => name,
        _ => member,
    }
}

/// The losses over the learning rates, for the batch size in the middle.
fn over_rates(settings: &Settings, rows: &[Row]) -> Picture {
    let examples = settings.batch_sizes[settings.batch_sizes.len() / 2];
    let mut picture = Picture::new(
        "rates",
        format!(
            "Final loss of each second moment over the learning rate, B = {examples}, update not clipped"
        ),
        Scale::log("learning rate"),
        Scale::linear("loss on held-out text (nats)"),
    );
    let shown = rows.iter();
    let shown = shown.filter(|row| row.examples == examples && !row.clipped);
    // What has blown up would flatten the rest.
    let cut = shown.clone().map(Row::best).fold(f64::INFINITY, f64::min) + 2.5;
    for row in shown {
        let points = settings.learning_rates.iter().zip(&row.losses);
        let points = points.filter(|(_, loss)| **loss < cut);
        let points: Vec<_> = points.map(|(&rate, &loss)| (rate, loss)).collect();
        if !points.is_empty() {
            picture.line(row.member, points);
        }
    }
    picture
}

fn findings(settings: &Settings, rows: &[Row], report: &mut Report) {
    for &examples in &settings.batch_sizes {
        for clipped in [false, true] {
            let these = rows.iter();
            let these = these.filter(|row| row.examples == examples && row.clipped == clipped);
            let mut these: Vec<&Row> = these.collect();
            these.sort_by(|x, y| x.best().total_cmp(&y.best()));
            let order: Vec<String> = these
                .iter()
                .map(|row| format!("{} {}", member_name(row.member), Entry::from(row.best())))
                .collect();
            let update = if clipped { "clipped" } else { "free" };
            let order = order.join(", ");
            report.findings.push(format!(
                "B = {examples}, update {update}, best first: {order}"
            ));
        }
    }
    report.findings.push(
        "The paper: best where mu^2 dominates; variance-dominated is unstable, and clipped stays behind Adam".to_owned(),
    );
    for (member, clipped) in kinds(rows) {
        let of_kind = of_kind(rows, member, clipped);
        if let Some(exponent) = rate_exponent(&of_kind, &settings.learning_rates)
            && !clipped
        {
            report.findings.push(format!(
                "The best learning rate of {} grew as B^{exponent:.2}; the paper's rule is B^0.5 at small and medium B. Observed, not guaranteed",
                member_name(member)
            ));
        }
    }
}
