//! The catalogue: every link by name, and chains built from it.

use super::{Argument, Arguments, ChainSpec, DynChain, Link, LinkSpec};
use crate::error::Error;

/// What kind of link it is: where it may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Before or after the reduction.
    Elementwise,
    /// Before the reduction.
    PerExample,
    /// The reduction.
    OverExamples,
    /// After the reduction, most of them.
    Aggregated,
    /// A whole optimizer.
    Alias,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Elementwise => "element-wise",
            Self::PerExample => "per example",
            Self::OverExamples => "over examples",
            Self::Aggregated => "aggregated",
            Self::Alias => "optimizer",
        })
    }
}

/// A link in the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What kind of link it is.
    pub family: Family,
    /// What it does, as a formula.
    pub summary: &'static str,
    /// Where it comes from.
    pub reference: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// Builds it from the arguments of a specification.
    pub build: fn(&mut Arguments<'_>) -> Result<Link, Error>,
}

/// Every link by name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    entries: Vec<Entry>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::standard()
    }
}

impl Catalogue {
    /// The links of this crate.
    pub fn standard() -> Self {
        let families = [
            crate::elementwise::ENTRIES,
            crate::per_example::ENTRIES,
            crate::over_examples::ENTRIES,
            crate::aggregated::ENTRIES,
            crate::alias::ENTRIES,
        ];
        Self {
            entries: families.concat(),
        }
    }

    /// The same with one more link; it replaces one of the same name.
    #[must_use]
    pub fn with(mut self, entry: Entry) -> Self {
        self.entries.retain(|known| known.name != entry.name);
        self.entries.push(entry);
        self
    }

    /// All links, by family and name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The link of this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Builds one link.
    ///
    /// # Errors
    /// An unknown name (with the nearest known one), or a wrong, missing or unknown argument.
    pub fn link(&self, spec: &LinkSpec) -> Result<Link, Error> {
        let entry = self.get(&spec.link).ok_or_else(|| Error::UnknownLink {
            name: spec.link.clone(),
            near: self.nearest(&spec.link),
        })?;
        let mut arguments = Arguments::new(spec, self);
        let link = (entry.build)(&mut arguments)?;
        arguments.finish()?;
        Ok(link)
    }

    /// Builds the links of a chain. Their order is checked when the chain is traced, since it depends on what comes in.
    ///
    /// # Errors
    /// The first link that cannot be built.
    pub fn build(&self, spec: &ChainSpec) -> Result<DynChain, Error> {
        let links = spec.links.iter().map(|link| {
            let name = link.link.clone();
            self.link(link).map(|link| (name, link))
        });
        Ok(DynChain::new(links.collect::<Result<_, _>>()?))
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let known = self.entries.iter().map(|entry| entry.name);
        let (distance, near) = known.map(|n| (edit_distance(n, name), n)).min()?;
        (distance <= 1 + name.len() / 4).then(|| near.to_owned())
    }

    /// The catalogue as a table in Markdown.
    pub fn to_markdown(&self) -> String {
        let mut out =
            String::from("| link | arguments | what it does | reference |\n|--|--|--|--|\n");
        let mut family = None;
        for entry in &self.entries {
            if family.replace(entry.family) != Some(entry.family) {
                out.push_str(&format!("| **{}** | | | |\n", entry.family));
            }
            let arguments: Vec<_> = entry
                .arguments
                .iter()
                .map(|a| match a.default {
                    None => a.name.to_owned(),
                    Some(default) => format!("{}={default}", a.name),
                })
                .collect();
            out.push_str(&format!(
                "| `{}` | {} | {} | {} |\n",
                entry.name,
                arguments.join(", "),
                entry.summary.replace('|', "\\|"),
                entry.reference
            ));
        }
        out
    }
}

/// The number of letters to insert, drop or replace.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
