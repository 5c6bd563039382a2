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
    /// Around other links.
    Wrapper,
    /// Before the reduction: passes the gradients on, and gives out metrics.
    Monitor,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Elementwise => "element-wise",
            Self::PerExample => "per example",
            Self::OverExamples => "over examples",
            Self::Aggregated => "aggregated",
            Self::Alias => "optimizer",
            Self::Wrapper => "around other links",
            Self::Monitor => "monitor",
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
            crate::combine::ENTRIES,
            crate::wrap::ENTRIES,
            crate::monitor::ENTRIES,
        ];
        Self {
            entries: families.concat(),
        }
    }

    /// The same with one more link; it replaces one of the same name.
    #[must_use]
    pub fn with(mut self, entry: Entry) -> Self {
        self.entries.retain(|known| known.name != entry.name);
        let last = self.entries.iter().rposition(|e| e.family <= entry.family);
        let at = last.map_or(0, |last| last + 1);
        self.entries.insert(at, entry);
        self
    }

    /// All links, by family.
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
        match (entry.build)(&mut arguments) {
            Ok(link) => arguments.finish().map(|()| link),
            // A misspelled argument is the better answer than the one that is missing for it.
            Err(error @ Error::MissingArgument { .. }) => {
                Err(arguments.misspelled(entry.arguments).unwrap_or(error))
            }
            Err(error) => Err(error),
        }
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

    /// The catalogue as a table in Markdown. Names link to what `link` gives for them, papers to arXiv.
    pub fn to_markdown(&self, link: impl Fn(&Entry) -> Option<String>) -> String {
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
            let name = match link(entry) {
                Some(target) => format!("[`{}`]({target})", entry.name),
                None => format!("`{}`", entry.name),
            };
            out.push_str(&format!(
                "| {name} | {} | {} | {} |\n",
                arguments.join(", "),
                entry.summary.replace('|', "\\|"),
                with_links(entry.reference)
            ));
        }
        out
    }
}

/// `arXiv 2510.00236` as a link.
fn with_links(reference: &str) -> String {
    let mut out = String::new();
    let mut rest = reference;
    while let Some(at) = rest.find("arXiv ") {
        let (before, paper) = rest.split_at(at);
        let number = &paper["arXiv ".len()..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.');
        let number = number[..end.unwrap_or(number.len())].trim_end_matches('.');
        out.push_str(&format!(
            "{before}[arXiv {number}](https://arxiv.org/abs/{number})"
        ));
        rest = &paper["arXiv ".len() + number.len()..];
    }
    out + rest
}

/// The number of letters to insert, drop or replace, or of neighbours to exchange: `maen` is one step from `mean`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut distance = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            distance[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = distance[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let inserted = distance[i - 1][j].min(distance[i][j - 1]) + 1;
                let exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let exchange = if exchanged {
                    distance[i - 2][j - 2] + 1
                } else {
                    usize::MAX
                };
                replaced.min(inserted).min(exchange)
            };
        }
    }
    distance[a.len()][b.len()]
}
