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
    /// By executor.
    Ran(Vec<(String, Comparison)>),
}

impl Outcome {
    fn failed(&self) -> bool {
        match self {
            Self::Unsupported(_) => false,
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
            outcome if outcome.failed() => self.failed += 1,
            Outcome::Ran(_) => self.ok += 1,
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (ok, failed, unsupported) = (self.ok, self.failed, self.unsupported);
        writeln!(f, "{ok} ok, {failed} failed, {unsupported} unsupported")?;
        for (kind, count) in &self.kinds {
            writeln!(f, "  {count:>3} {kind}")?;
        }
        Ok(())
    }
}
