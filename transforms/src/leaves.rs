//! `Leaves`: a selection of the leaves of a model, by path, by rank, by a predicate, or made of other selections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use crate::error::Error;
use crate::tree::{LeafInfo, ParamTree};

/// Which leaves of a model a link applies to. Resolved when the chain is bound to a model.
///
/// In serde data: `"all"`, `{"matching": "*.bias"}`, `{"rank_at_least": 2}`, `{"two_axes_at_least": 128}`, `{"not": ...}`,
/// `{"all_of": [...]}`, `{"any_of": [...]}`, or `{"paths": {"w": true, "b": false}}`; the argument of a link may leave out the
/// `paths` around such a table.
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
    /// The leaves that all of these select.
    AllOf(Vec<Leaves>),
    /// The leaves that at least one of these selects.
    AnyOf(Vec<Leaves>),
    /// Of a model divided into parts, the one at a position: the leaves that its selection is the first to select. Each leaf must
    /// be in some part. See [`partition`](crate::partition()).
    Part {
        /// The selections, first match wins.
        of: Vec<Leaves>,
        /// The position, from 0.
        at: usize,
    },
}

impl Leaves {
    /// The leaves whose path matches `pattern`, where `*` stands for any text and `?` for one character.
    pub fn matching(pattern: impl Into<String>) -> Self {
        Self::Matching(pattern.into())
    }

    /// The leaves of a model for which a predicate holds, such as those of more than 1000 elements.
    ///
    /// A program is data, so the predicate is asked now and the answers are kept by path.
    ///
    /// # Example
    /// ```
    /// use pergrad_transforms::prelude::*;
    /// use pergrad_transforms::{Dtype, LeafInfo, ParamTree};
    /// let leaf = |path: &str, size| LeafInfo { path: path.into(), shape: vec![size], dtype: Dtype::F32 };
    /// let tree = ParamTree::new(vec![leaf("small", 2), leaf("large", 5000)]).unwrap();
    /// let large = Leaves::of(&tree, |leaf| leaf.size() > 1000);
    /// assert_eq!(large.select(&tree).unwrap(), [false, true]);
    /// ```
    pub fn of(tree: &ParamTree, predicate: impl Fn(&LeafInfo) -> bool) -> Self {
        let leaves = tree.leaves().iter();
        Self::Paths(leaves.map(|l| (l.path.clone(), predicate(l))).collect())
    }

    /// No leaf.
    pub fn none() -> Self {
        Self::All.negate()
    }

    /// All other leaves.
    #[must_use]
    pub fn negate(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Whether the shape of a leaf alone decides, so that a leaf that is seen by itself can be asked.
    pub fn is_by_shape(&self) -> bool {
        match self {
            Self::All | Self::RankAtLeast(_) | Self::TwoAxesAtLeast(_) => true,
            Self::Matching(_) | Self::Paths(_) => false,
            Self::Not(other) => other.is_by_shape(),
            Self::AllOf(parts) | Self::AnyOf(parts) | Self::Part { of: parts, .. } => {
                parts.iter().all(Self::is_by_shape)
            }
        }
    }

    /// For each leaf of `tree`, whether it is selected.
    ///
    /// # Errors
    /// [`Error::Selection`] where [`Leaves::Matching`] matches nothing, or where [`Leaves::Paths`] names a leaf that does not
    /// exist or leaves one out; [`Error::Unassigned`] where a leaf is in no part.
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
            Self::AllOf(all) => {
                let all = all.iter().map(|s| s.select(tree));
                let all = all.collect::<Result<Vec<_>, _>>()?;
                let selected = |at: usize| all.iter().all(|s| s[at]);
                (0..leaves.len()).map(selected).collect()
            }
            Self::AnyOf(any) => {
                let any = any.iter().map(|s| s.select(tree));
                let any = any.collect::<Result<Vec<_>, _>>()?;
                let selected = |at: usize| any.iter().any(|s| s[at]);
                (0..leaves.len()).map(selected).collect()
            }
            Self::Part { of, at } => {
                let parts = of.iter().map(|s| s.select(tree));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                let part = |leaf: usize| parts.iter().position(|s| s[leaf]);
                let first = (0..leaves.len()).map(part).collect::<Vec<_>>();
                if let Some(leaf) = first.iter().position(Option::is_none) {
                    return Err(Error::Unassigned {
                        leaf: leaves[leaf].path.clone(),
                        parts: of.iter().map(ToString::to_string).collect(),
                    });
                }
                first.iter().map(|part| *part == Some(*at)).collect()
            }
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

fn joined(leaves: &[Leaves], between: &str) -> String {
    let texts: Vec<String> = leaves.iter().map(ToString::to_string).collect();
    texts.join(between)
}

impl std::fmt::Display for Leaves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => write!(f, "all"),
            Self::Matching(pattern) => write!(f, "\"{pattern}\""),
            Self::RankAtLeast(rank) => write!(f, "rank>={rank}"),
            Self::TwoAxesAtLeast(length) => write!(f, "two axes>={length}"),
            Self::Not(other) => write!(f, "not {other}"),
            Self::AllOf(all) => write!(f, "({})", joined(all, " and ")),
            Self::AnyOf(any) => write!(f, "({})", joined(any, " or ")),
            Self::Part { of, at } => write!(f, "part {at} of ({})", joined(of, ", ")),
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
