//! Words that the messages of errors are made of.

use crate::axis::AxisKind;

pub(super) fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let quoted: Vec<_> = names.iter().map(|n| format!("`{n}`")).collect();
    quoted.join(", ")
}

pub(super) fn lines(lines: &[String]) -> String {
    lines.iter().map(|l| format!("\n  {l}")).collect()
}

pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

pub(super) fn suggestion(near: Option<&str>) -> String {
    near.map_or_else(
        || ": the catalogue lists those that exist".to_owned(),
        |near| format!(": did you mean `{near}`?"),
    )
}

pub(super) fn extra_kind(axis: AxisKind) -> &'static str {
    match axis {
        AxisKind::Aggregated => "one number",
        AxisKind::PerExample => "one number for each example",
    }
}
