//! A table with a title, printed with aligned columns.

use std::fmt;

use serde::Serialize;

/// A table of texts and numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Entry>>,
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Entry {
    /// A text, to the left.
    Text(String),
    /// A number, to the right, with four digits.
    Number(f64),
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Entry {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}

impl From<usize> for Entry {
    #[allow(clippy::cast_precision_loss)] // counts of a study
    fn from(x: usize) -> Self {
        Self::Number(x as f64)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Number(x) => {
                let size = x.abs();
                let whole = x.fract() == 0.0 && size < 1e6;
                let text = if whole || !x.is_finite() {
                    format!("{x}")
                } else if !(1e-3..1e5).contains(&size) {
                    format!("{x:.2e}")
                } else {
                    // Four digits that count.
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                    let digits = (3 - size.log10().floor() as i32).max(0) as usize;
                    format!("{x:.digits$}")
                };
                f.pad(&text)
            }
        }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        Self {
            title: title.into(),
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it is not as long as the head.
    pub fn row<const N: usize>(&mut self, row: [Entry; N]) {
        assert_eq!(row.len(), self.columns.len(), "{}", self.title);
        self.rows.push(row.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |at: usize| {
            let entries = self.rows.iter().map(|row| row[at].to_string());
            let lengths = entries.map(|text| text.chars().count());
            lengths.chain([self.columns[at].chars().count()]).max()
        };
        let widths: Vec<usize> = (0..self.columns.len()).filter_map(width).collect();
        writeln!(f, "{}", self.title)?;
        for (column, width) in self.columns.iter().zip(&widths) {
            write!(f, "  {column:>width$}")?;
        }
        writeln!(f)?;
        for row in &self.rows {
            for (entry, width) in row.iter().zip(&widths) {
                match entry {
                    Entry::Text(_) => write!(f, "  {entry:<width$}")?,
                    Entry::Number(_) => write!(f, "  {entry:>width$}")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_numbers_have_four_digits() {
        let mut table = Table::new("sizes", &["name", "x"]);
        table.row(["a".into(), 0.123_456.into()]);
        table.row(["longer".into(), 12_345_678.0.into()]);
        table.row(["b".into(), 7_usize.into()]);
        let text =
            "sizes\n    name       x\n  a       0.1235\n  longer  1.23e7\n  b            7\n";
        assert_eq!(table.to_string(), text);
    }
}
