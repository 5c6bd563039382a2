//! How far a value reaches: over the elements of a leaf, one number for a leaf, or one number for all leaves.

use serde::{Deserialize, Serialize};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Leaf {}
    impl Sealed for super::PerLeaf {}
    impl Sealed for super::Global {}
}

/// One number for each element of each leaf: `[B, P]` or `[P]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leaf;

/// One number for each leaf (and example): `[B]` or one number, for each leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PerLeaf;

/// One number (for each example), the same for all leaves: `[B]` or one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Global;

/// An [`Extent`] as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtentKind {
    /// One number for all leaves.
    Global,
    /// One number for each leaf.
    PerLeaf,
    /// One number for each element of each leaf.
    Leaf,
}

impl ExtentKind {
    /// The extent of `x op y` under broadcasting: the narrowest that holds both.
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (x, y) if x == y => x,
            (x, Self::Global) | (Self::Global, x) => x,
            (Self::Leaf | Self::PerLeaf, _) => Self::Leaf,
        }
    }

    /// Whether a value of this extent can be broadcast to `other`.
    pub fn fits(self, other: Self) -> bool {
        self.join(other) == other
    }

    /// Whether there is one value for all leaves, not one for each.
    pub fn is_shared(self) -> bool {
        self == Self::Global
    }
}

/// An extent: [`Leaf`], [`PerLeaf`] or [`Global`]. Sealed.
pub trait Extent:
    sealed::Sealed
    + Widen<Self, Out = Self>
    + Widen<Global, Out = Self>
    + Copy
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// The same extent as a value.
    const KIND: ExtentKind;
}

impl Extent for Leaf {
    const KIND: ExtentKind = ExtentKind::Leaf;
}
impl Extent for PerLeaf {
    const KIND: ExtentKind = ExtentKind::PerLeaf;
}
impl Extent for Global {
    const KIND: ExtentKind = ExtentKind::Global;
}

/// The extent of `x op y` under broadcasting: the wider one.
pub trait Widen<Other> {
    /// The extent of the result.
    type Out: Extent;
}

macro_rules! widen {
    ($($left:ty, $right:ty => $out:ty;)*) => {
        $(impl Widen<$right> for $left { type Out = $out; })*
    };
}

widen! {
    Leaf, Leaf => Leaf;
    Leaf, PerLeaf => Leaf;
    Leaf, Global => Leaf;
    PerLeaf, Leaf => Leaf;
    PerLeaf, PerLeaf => PerLeaf;
    PerLeaf, Global => PerLeaf;
    Global, Leaf => Leaf;
    Global, PerLeaf => PerLeaf;
    Global, Global => Global;
}
