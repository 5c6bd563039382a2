//! What every report can do: be written, and be read again.

use pergrad_studies::report::Report;
use pergrad_studies::table::{Entry, Table};

/// Writes the report and checks that the JSON can be read and that the pictures are pictures.
pub(crate) fn published(report: &Report, svgs: usize) {
    let name = format!("pergrad_{}_{}", report.study, std::process::id());
    let folder = std::env::temp_dir().join(name);
    let written = report.publish(&folder).unwrap();
    let read: Vec<String> = written
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    std::fs::remove_dir_all(&folder).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read[0]).unwrap();
    assert_eq!(json["study"], report.study);
    assert_eq!(
        json["tables"].as_array().unwrap().len(),
        report.tables.len()
    );
    assert_eq!(read[1..].len(), svgs);
    assert!(
        read[1..]
            .iter()
            .all(|svg| svg.contains("<svg") && svg.contains("</svg>"))
    );
}

/// The numbers of a column.
pub(crate) fn column(table: &Table, name: &str) -> Vec<f64> {
    let at = table.columns.iter().position(|column| column == name);
    let at = at.unwrap_or_else(|| panic!("no column `{name}` in\n{table}"));
    let numbers = table.rows.iter().filter_map(|row| match &row[at] {
        Entry::Number(x) => Some(*x),
        Entry::Text(_) => None,
    });
    numbers.collect()
}
