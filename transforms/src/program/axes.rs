//! Axes of a leaf, chosen by rules that fit leaves of every rank.

use serde::{Deserialize, Serialize};

/// Which axes of a leaf a fold goes along. Resolved for each leaf by its shape, when the program is bound to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axes {
    /// Every axis but this one, counted from 0; every axis if the leaf does not have it.
    AllBut(u32),
    /// The axes whose bits are set, the lowest for axis 0. Those that the leaf does not have are left out.
    Bits(u32),
    /// The axes that feed one unit, by the layout of most weights: every axis if at most one is longer than 1, axis 0 of a
    /// leaf of rank 2 or 3, and every axis but the last of others.
    Inputs,
    /// The longest axis, the last one of those of equal length; none of a leaf without axes.
    Longest,
    /// The longest of the other axes, the last one of those of equal length; none of a leaf with fewer than two axes.
    SecondLongest,
}

impl Axes {
    /// The axes by number: `Axes::listed(&[1, 2, 3])`. No leaf has more than 32 axes; numbers from 32 on are left out.
    pub fn listed(axes: &[u32]) -> Self {
        Self::Bits(
            axes.iter()
                .fold(0, |bits, axis| bits | 1_u32.checked_shl(*axis).unwrap_or(0)),
        )
    }

    /// For each axis of a leaf, whether the fold goes along it.
    pub fn of(self, shape: &[usize]) -> Vec<bool> {
        let rank = shape.len();
        let mut by_length: Vec<usize> = (0..rank).collect();
        by_length.sort_by_key(|&axis| shape[axis]);
        let one = |axis: Option<usize>| (0..rank).map(|at| Some(at) == axis).collect();
        match self {
            Self::AllBut(kept) => (0..rank).map(|at| at != kept as usize).collect(),
            Self::Bits(bits) => (0..rank).map(|at| at < 32 && bits >> at & 1 == 1).collect(),
            Self::Inputs => {
                let long = shape.iter().filter(|length| **length != 1).count();
                let taken = |at: usize| match rank {
                    _ if long <= 1 => true,
                    2 | 3 => at == 0,
                    _ => at + 1 < rank,
                };
                (0..rank).map(taken).collect()
            }
            Self::Longest => one(by_length.last().copied()),
            Self::SecondLongest => one(by_length.iter().rev().nth(1).copied()),
        }
    }
}

impl std::fmt::Display for Axes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AllBut(axis) => write!(f, "all but {axis}"),
            Self::Bits(bits) => {
                let axes = (0..32).filter(|axis| bits >> axis & 1 == 1);
                let axes: Vec<String> = axes.map(|axis| axis.to_string()).collect();
                f.write_str(&axes.join(" "))
            }
            Self::Inputs => f.write_str("inputs"),
            Self::Longest => f.write_str("longest"),
            Self::SecondLongest => f.write_str("second longest"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Axes;

    #[test]
    fn axes_are_chosen_by_the_shape_of_the_leaf() {
        let f = false;
        assert_eq!(Axes::AllBut(1).of(&[2, 3, 4]), [true, f, true]);
        assert_eq!(Axes::AllBut(1).of(&[2]), [true]);
        assert_eq!(Axes::listed(&[0, 5]).of(&[2, 3]), [true, f]);
        assert_eq!(Axes::listed(&[40]).of(&[2]), [f]);
        assert_eq!(Axes::Inputs.of(&[]), [f; 0]);
        assert_eq!(Axes::Inputs.of(&[5, 1]), [true, true]);
        assert_eq!(Axes::Inputs.of(&[2, 3, 4]), [true, f, f]);
        assert_eq!(Axes::Inputs.of(&[2, 3, 4, 5]), [true, true, true, f]);
        assert_eq!(Axes::Longest.of(&[3, 3]), [f, true]);
        assert_eq!(Axes::SecondLongest.of(&[3, 3]), [true, f]);
        assert_eq!(Axes::SecondLongest.of(&[3]), [f]);
    }
}
