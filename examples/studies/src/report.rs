//! What a study has found: tables for the reader, the same as JSON for programs, and pictures.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::picture::Picture;
use crate::table::Table;

/// Everything a study has found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the study.
    pub study: &'static str,
    /// What it was asked for.
    pub settings: serde_json::Value,
    /// What it found.
    pub tables: Vec<Table>,
    /// The same as pictures.
    #[serde(skip)]
    pub pictures: Vec<Picture>,
    /// Pictures that are no curves: the end of the name of its file and the SVG.
    #[serde(skip)]
    pub drawings: Vec<(&'static str, String)>,
    /// What agrees with the paper and what does not, in one sentence each.
    pub findings: Vec<String>,
}

impl Report {
    /// An empty report. The settings are the arguments of the study.
    pub fn new(study: &'static str, settings: &impl Serialize) -> Self {
        Self {
            study,
            settings: serde_json::to_value(settings).expect("arguments are plain data"),
            tables: Vec::new(),
            pictures: Vec::new(),
            drawings: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Prints the tables and findings, and writes `<study>.json` and one SVG for each picture into a folder. Gives back what was written.
    ///
    /// # Errors
    /// A folder or a file that cannot be written.
    pub fn publish(&self, folder: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
        std::fs::create_dir_all(folder)?;
        for table in &self.tables {
            println!("{table}");
        }
        for finding in &self.findings {
            println!("- {finding}");
        }
        let json = folder.join(format!("{}.json", self.study));
        std::fs::write(&json, serde_json::to_string_pretty(self)?)?;
        let mut written = vec![json];
        for picture in &self.pictures {
            let path = folder.join(format!("{}_{}.svg", self.study, picture.name));
            picture.draw(&path)?;
            written.push(path);
        }
        for (name, svg) in &self.drawings {
            let path = folder.join(format!("{}_{name}.svg", self.study));
            std::fs::write(&path, svg)?;
            written.push(path);
        }
        println!();
        for path in &written {
            println!("wrote {}", path.display());
        }
        Ok(written)
    }
}
