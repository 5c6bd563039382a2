//! `Leaves`: a selection of the leaves of a model, by path or by rank.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use crate::error::Error;
use crate::tree::{LeafInfo, ParamTree};

/// Which leaves of a model a link applies to. Resolved when the chain is bound to a model.
///
/// In serde data: `"all"`, `{"matching": "*.bias"}`, `{"rank_at_least": 2}`, `{"two_axes_at_least": 128}`, `{"not": ...}`, or `{"paths": {"w": true, "b":
/// false}}`; the argument of a link may leave out the `paths` around such a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaves {
    /// Every leaf.
    All,
    /// The leaves whose path matches a pattern, where `*` stands for any text and `?` for one character: `"*weight"`.
    Matching(String),
    /// The leaves of at least this rank: 2 leaves out biases and the scales of norm layers.
    RankAtLeast(usize),
    /// The leaves with at least two axes of at least this length: the matrices that are worth factoring.
    TwoAxesAtLeast(usize),
    /// Each leaf by its path; every path must exist, and every leaf must be named.
    Paths(BTreeMap<String, bool>),
    /// The leaves that are not selected by another selection.
    Not(Box<Leaves>),
}

impl Leaves {
    /// The leaves whose path matches `pattern`, where `*` stands for any text and `?` for one character.
    pub fn matching(pattern: impl Into<String>) -> Self {
        Self::Matching(pattern.into())
    }

    /// All other leaves.
    #[must_use]
    pub fn negate(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// For each leaf of `tree`, whether it is selected.
    ///
    /// # Errors
    /// [`Error::Selection`] where [`Leaves::Matching`] matches nothing, or where [`Leaves::Paths`] names a leaf that does not exist or leaves one out.
    pub fn select(&self, tree: &ParamTree) -> Result<Vec<bool>, Error> {
        let leaves = tree.leaves();
        Ok(match self {
            Self::All => vec![true; leaves.len()],
            Self::Matching(pattern) => {
                let selected = matching(pattern, tree);
                if !selected.contains(&true) && !leaves.is_empty() {
                    return Err(Error::Selection {
                        path: pattern.clone(),
                        problem: "matches no leaf of the model",
                        known: tree.paths(),
                    });
                }
                selected
            }
            Self::RankAtLeast(rank) => leaves.iter().map(|l| l.shape.len() >= *rank).collect(),
            Self::TwoAxesAtLeast(length) => {
                let long = |leaf: &LeafInfo| leaf.shape.iter().filter(|n| *n >= length).count();
                leaves.iter().map(|leaf| long(leaf) >= 2).collect()
            }
            // "All but the biases" makes sense without biases.
            Self::Not(other) => match &**other {
                Self::Matching(pattern) => matching(pattern, tree).iter().map(|s| !s).collect(),
                other => other.select(tree)?.iter().map(|s| !s).collect(),
            },
            Self::Paths(paths) => {
                let unknown = paths.keys().find(|p| tree.position(p).is_none());
                if let Some(path) = unknown {
                    return Err(Error::Selection {
                        path: path.clone(),
                        problem: "is named by a selection, but the model has no such leaf",
                        known: tree.paths(),
                    });
                }
                let mut selected = Vec::with_capacity(leaves.len());
                for leaf in leaves {
                    match paths.get(&leaf.path) {
                        Some(&s) => selected.push(s),
                        None => {
                            return Err(Error::Selection {
                                path: leaf.path.clone(),
                                problem: "is a leaf of the model, but the selection by paths does not name it",
                                known: paths.keys().cloned().collect(),
                            });
                        }
                    }
                }
                selected
            }
        })
    }
}

/// For each leaf, whether its path matches.
fn matching(pattern: &str, tree: &ParamTree) -> Vec<bool> {
    let pattern = WildMatch::new(pattern);
    let leaves = tree.leaves().iter();
    leaves.map(|leaf| pattern.matches(&leaf.path)).collect()
}

impl std::fmt::Display for Leaves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => write!(f, "all"),
            Self::Matching(pattern) => write!(f, "\"{pattern}\""),
            Self::RankAtLeast(rank) => write!(f, "rank>={rank}"),
            Self::TwoAxesAtLeast(length) => write!(f, "two axes>={length}"),
            Self::Not(other) => write!(f, "not {other}"),
            Self::Paths(paths) => {
                let chosen: Vec<_> = paths
                    .iter()
                    .filter(|(_, s)| **s)
                    .map(|(p, _)| p.as_str())
                    .collect();
                write!(f, "[{}]", chosen.join(", "))
            }
        }
    }
}
