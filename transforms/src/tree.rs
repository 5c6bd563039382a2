//! `ParamTree`: the leaves of a model, by path, shape and dtype.

use serde::{Deserialize, Serialize};

use crate::axis::AxisKind;
use crate::error::Error;

/// The element type of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an f32.
    Bf16,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// One parameter of a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeafInfo {
    /// Where it is in the model: `"block.0.linear.weight"`.
    pub path: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its element type.
    pub dtype: Dtype,
}

impl LeafInfo {
    /// The number of elements P.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The parameters of a model, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawParamTree")]
pub struct ParamTree {
    leaves: Vec<LeafInfo>,
}

#[derive(Deserialize)]
struct RawParamTree {
    leaves: Vec<LeafInfo>,
}

impl TryFrom<RawParamTree> for ParamTree {
    type Error = Error;

    fn try_from(raw: RawParamTree) -> Result<Self, Error> {
        Self::new(raw.leaves)
    }
}

impl ParamTree {
    /// A tree of these leaves.
    ///
    /// # Errors
    /// [`Error::DuplicateLeaf`] if two leaves have one path.
    pub fn new(leaves: Vec<LeafInfo>) -> Result<Self, Error> {
        let mut seen = std::collections::HashSet::new();
        for leaf in &leaves {
            if !seen.insert(leaf.path.as_str()) {
                return Err(Error::DuplicateLeaf {
                    leaf: leaf.path.clone(),
                });
            }
        }
        Ok(Self { leaves })
    }

    /// The leaves in order.
    pub fn leaves(&self) -> &[LeafInfo] {
        &self.leaves
    }

    /// The number of leaves.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there is no leaf.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The position of a leaf.
    pub fn position(&self, path: &str) -> Option<usize> {
        self.leaves.iter().position(|l| l.path == path)
    }

    /// All paths, in order.
    pub fn paths(&self) -> Vec<String> {
        self.leaves.iter().map(|l| l.path.clone()).collect()
    }

    /// The number of elements of each leaf.
    pub fn sizes(&self) -> Vec<usize> {
        self.leaves.iter().map(LeafInfo::size).collect()
    }

    /// Checks the shapes of a set of gradients once, and returns the number of examples B (1 for aggregated gradients).
    ///
    /// # Errors
    /// A leaf that the model does not have, a missing one, a wrong shape, or leaves that disagree on B.
    pub fn check_grads<'a>(
        &self,
        axis: AxisKind,
        grads: impl IntoIterator<Item = (&'a str, &'a [usize])>,
    ) -> Result<usize, Error> {
        let mut seen = vec![false; self.leaves.len()];
        let mut first: Option<(&str, usize)> = None;
        for (path, shape) in grads {
            let at = self.position(path).ok_or_else(|| Error::UnknownLeaf {
                leaf: path.to_owned(),
                known: self.paths(),
            })?;
            seen[at] = true;
            let leaf = &self.leaves[at];
            let rest = match axis {
                AxisKind::PerExample => shape.get(1..),
                AxisKind::Aggregated => Some(shape),
            };
            if rest != Some(&leaf.shape[..]) {
                return Err(leaf.misshapen(axis, shape));
            }
            if axis == AxisKind::PerExample {
                let (first, expected) = *first.get_or_insert((path, shape[0]));
                if shape[0] != expected {
                    return Err(Error::LeadingSize {
                        first: first.to_owned(),
                        expected,
                        leaf: path.to_owned(),
                        got: shape[0],
                    });
                }
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(at) => Err(Error::MissingLeaf {
                leaf: self.leaves[at].path.clone(),
            }),
            None => Ok(match axis {
                AxisKind::PerExample => first.map_or(0, |(_, examples)| examples),
                AxisKind::Aggregated => 1,
            }),
        }
    }
}

impl ParamTree {
    /// Checks the shapes of a set of parameters.
    ///
    /// # Errors
    /// [`Error::Params`]: a leaf that the model does not have, a missing one, or a wrong shape.
    pub fn check_params<'a>(
        &self,
        params: impl IntoIterator<Item = (&'a str, &'a [usize])>,
    ) -> Result<(), Error> {
        let wrong = |leaf: &str, expected: String, got: String| Error::Params {
            leaf: leaf.to_owned(),
            expected,
            got,
        };
        let shape = |shape: &[usize]| format!("the shape {shape:?}");
        let mut seen = vec![false; self.leaves.len()];
        for (path, got) in params {
            let at = self
                .position(path)
                .ok_or_else(|| wrong(path, "no such parameter".to_owned(), shape(got)))?;
            seen[at] = true;
            if self.leaves[at].shape != got {
                return Err(wrong(path, shape(&self.leaves[at].shape), shape(got)));
            }
        }
        match seen.iter().position(|seen| !seen) {
            None => Ok(()),
            Some(at) => {
                let leaf = &self.leaves[at];
                Err(wrong(&leaf.path, shape(&leaf.shape), "nothing".to_owned()))
            }
        }
    }
}

impl LeafInfo {
    /// A shape error with a guess at its cause.
    fn misshapen(&self, axis: AxisKind, got: &[usize]) -> Error {
        let p = &self.shape[..];
        let last = got.len().saturating_sub(1);
        let hint = match axis {
            AxisKind::PerExample if got == p => {
                ": this looks like an aggregated gradient; give one for each example, or use an optimizer for aggregated gradients"
            }
            AxisKind::PerExample if got.len() == p.len() + 1 && got[..last] == *p => {
                ": the batch must be axis 0, but it looks as if it were the last axis"
            }
            AxisKind::Aggregated if got.get(1..) == Some(p) => {
                ": this looks like a per-example gradient; reduce over the examples first, or use an optimizer for per-example gradients"
            }
            _ => "",
        };
        let mut expected: Vec<String> = p.iter().map(ToString::to_string).collect();
        if axis == AxisKind::PerExample {
            expected.insert(0, "B".to_owned());
        }
        Error::LeafShape {
            leaf: self.path.clone(),
            expected: format!("[{}]", expected.join(", ")),
            got: format!("{got:?}"),
            hint,
        }
    }
}
