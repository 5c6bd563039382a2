//! What came out, as lines and counts.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result};

use super::compare::Comparison;
use super::convert::Unsupported;

/// What came out of a case.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    /// Numbers of the library that nothing was compared with.
    pub(crate) unchecked: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Unsupported(Unsupported),
    /// Other numbers than those of the library, on purpose and on every executor.
    Differs {
        reason: &'static str,
        runs: Vec<(String, Comparison)>,
    },
    /// By executor.
    Ran(Vec<(String, Comparison)>),
}

impl Outcome {
    /// A case that should differ, and does so at the same place on every executor. One that does not fails.
    pub(crate) fn differs(self, reason: &'static str) -> Self {
        let Self::Ran(mut runs) = self else {
            return self;
        };
        let first = runs.first().and_then(|(_, run)| run.place.clone());
        if first.is_some() && runs.iter().all(|(_, run)| run.place == first) {
            return Self::Differs { reason, runs };
        }
        for (_, run) in &mut runs {
            run.fail(|| format!("should differ from the library: {reason}"));
        }
        Self::Ran(runs)
    }

    fn failed(&self) -> bool {
        match self {
            Self::Unsupported(_) | Self::Differs { .. } => false,
            Self::Ran(runs) => runs.iter().any(|(_, comparison)| !comparison.passed()),
        }
    }
}

impl Comparison {
    /// Whether something was compared and nothing differed.
    fn passed(&self) -> bool {
        self.failure.is_none() && self.elements > 0
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let name = &self.name;
        let runs = match &self.outcome {
            Outcome::Unsupported(Unsupported { kind, reason }) => {
                return writeln!(f, "{name:<40} unsupported: {kind}: {reason}");
            }
            Outcome::Differs { reason, runs } => {
                for (executor, comparison) in runs {
                    let failure = comparison.failure.as_deref().unwrap_or_default();
                    writeln!(
                        f,
                        "{name:<40} {executor:<14} differs on purpose: {reason}: {failure}"
                    )?;
                }
                return Ok(());
            }
            Outcome::Ran(runs) => runs,
        };
        for (executor, comparison) in runs {
            write!(f, "{name:<40} {executor:<14} {:<9.1e}", comparison.worst)?;
            match &comparison.failure {
                Some(failure) => write!(f, "FAIL {failure}")?,
                None if comparison.passed() => write!(f, "ok")?,
                None => write!(f, "FAIL nothing was compared")?,
            }
            if !self.unchecked.is_empty() {
                write!(f, " (not compared: {})", self.unchecked.join(", "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// How many cases came out how.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) ok: usize,
    pub(crate) failed: usize,
    pub(crate) unsupported: usize,
    /// Why the cases that differ on purpose do.
    pub(crate) differ: Vec<(String, &'static str)>,
    /// What the unsupported cases lack.
    pub(crate) kinds: BTreeMap<String, usize>,
}

impl Summary {
    /// Counts one more case. It is ok if it is on every executor.
    pub(crate) fn add(&mut self, line: &Line) {
        match &line.outcome {
            Outcome::Unsupported(Unsupported { kind, .. }) => {
                self.unsupported += 1;
                *self.kinds.entry(kind.clone()).or_default() += 1;
            }
            Outcome::Differs { reason, .. } => self.differ.push((line.name.clone(), *reason)),
            outcome if outcome.failed() => self.failed += 1,
            Outcome::Ran(_) => self.ok += 1,
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (ok, failed, unsupported) = (self.ok, self.failed, self.unsupported);
        write!(f, "{ok} ok, {failed} failed, {unsupported} unsupported")?;
        if !self.differ.is_empty() {
            write!(f, ", {} differ on purpose", self.differ.len())?;
        }
        writeln!(f)?;
        for (kind, count) in &self.kinds {
            writeln!(f, "  {count:>3} {kind}")?;
        }
        for (name, reason) in &self.differ {
            writeln!(f, "      {name} differs: {reason}")?;
        }
        Ok(())
    }
}
