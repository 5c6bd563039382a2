//! How far a value reaches: over the elements of a leaf, one number for a leaf, or one number for all leaves; and the same two
//! once more for pairs of examples.
//!
//! In an interpreter every value is a matrix. Its rows are the examples, if they are still [apart](crate::axis); the extent says
//! what its columns are: the elements of a leaf, nothing (one column), or the *second* examples of pairs. A value for each
//! example and a value for each second example so broadcast to pairs, as a column and a row do. Elements and second examples do
//! not: no value has both.
//!
//! | | per example | aggregated |
//! |--|--|--|
//! | [`Leaf`] | `[B, P]` | `[P]` |
//! | [`PerLeaf`], [`Global`] | `[B]` | one number |
//! | [`LeafPairs`], [`Pairs`] | `[B, B]` | `[1, B]` |

use serde::{Deserialize, Serialize};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Leaf {}
    impl Sealed for super::PerLeaf {}
    impl Sealed for super::Global {}
    impl Sealed for super::LeafPairs {}
    impl Sealed for super::Pairs {}
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

/// One number for each leaf and pair of examples: `[B, B]`, or `[1, B]` for each second example, for each leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeafPairs;

/// One number for each pair of examples, the same for all leaves: `[B, B]`, or `[1, B]` for each second example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pairs;

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
    /// One number for each second example, for all leaves.
    Pairs,
    /// One number for each second example, for each leaf.
    LeafPairs,
}

impl ExtentKind {
    /// The extent of `x op y` under broadcasting: the narrowest that holds both. Nothing if one side has elements and the other
    /// is for pairs of examples.
    pub fn join(self, other: Self) -> Option<Self> {
        match (self, other) {
            (x, y) if x == y => Some(x),
            (x, Self::Global) | (Self::Global, x) => Some(x),
            (Self::Leaf, Self::PerLeaf) | (Self::PerLeaf, Self::Leaf) => Some(Self::Leaf),
            (Self::Leaf, _) | (_, Self::Leaf) => None,
            (Self::PerLeaf | Self::Pairs | Self::LeafPairs, _) => Some(Self::LeafPairs),
        }
    }

    /// Whether a value of this extent can be broadcast to `other`.
    pub fn fits(self, other: Self) -> bool {
        self.join(other) == Some(other)
    }

    /// Whether there is one value for all leaves, not one for each.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Global | Self::Pairs)
    }

    /// Whether there is one number for each second example.
    pub fn has_pairs(self) -> bool {
        matches!(self, Self::Pairs | Self::LeafPairs)
    }
}

/// An extent: [`Leaf`], [`PerLeaf`], [`Global`], [`LeafPairs`] or [`Pairs`]. Sealed.
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
impl Extent for LeafPairs {
    const KIND: ExtentKind = ExtentKind::LeafPairs;
}
impl Extent for Pairs {
    const KIND: ExtentKind = ExtentKind::Pairs;
}

/// The extent of `x op y` under broadcasting: the narrowest that holds both.
///
/// ```compile_fail,E0277
/// use pergrad_transforms::prelude::*;
/// fn weigh(x: &Value<PerExample>) {
///     // Second examples and elements are both columns.
///     let _ = x.gram() * x;
/// }
/// ```
///
/// ```
/// use pergrad_transforms::prelude::*;
/// fn weigh(x: &Value<PerExample>) {
///     let _ = x.gram().sum_pairs() * x;
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{Other}` values do not broadcast: the columns of one are the elements of a leaf, those of the other are pairs of examples, so fold over the pairs first, as `sum_pairs` does",
    label = "`{Self}` with `{Other}`"
)]
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
    PerLeaf, LeafPairs => LeafPairs;
    PerLeaf, Pairs => LeafPairs;
    Global, Leaf => Leaf;
    Global, PerLeaf => PerLeaf;
    Global, Global => Global;
    Global, LeafPairs => LeafPairs;
    Global, Pairs => Pairs;
    LeafPairs, PerLeaf => LeafPairs;
    LeafPairs, Global => LeafPairs;
    LeafPairs, LeafPairs => LeafPairs;
    LeafPairs, Pairs => LeafPairs;
    Pairs, PerLeaf => LeafPairs;
    Pairs, Global => Pairs;
    Pairs, LeafPairs => LeafPairs;
    Pairs, Pairs => Pairs;
}

/// The extents of one number an example, [`Global`] and [`PerLeaf`], with the extent of their pairs.
pub trait Paired: Extent {
    /// [`Pairs`] or [`LeafPairs`].
    type Pairs: OfPairs<One = Self>;
}

impl Paired for Global {
    type Pairs = Pairs;
}
impl Paired for PerLeaf {
    type Pairs = LeafPairs;
}

/// The extents of pairs, [`Pairs`] and [`LeafPairs`], with the extent that is left when the second examples are folded.
pub trait OfPairs: Extent + Widen<Pairs, Out = Self> {
    /// [`Global`] or [`PerLeaf`].
    type One: Paired<Pairs = Self>;
}

impl OfPairs for Pairs {
    type One = Global;
}
impl OfPairs for LeafPairs {
    type One = PerLeaf;
}

/// The extents of one number (or row of pairs) a leaf, with the extent that is left when the leaves are folded.
pub trait EachLeaf: Extent {
    /// [`Global`] or [`Pairs`].
    type Shared: Extent;
}

impl EachLeaf for PerLeaf {
    type Shared = Global;
}
impl EachLeaf for LeafPairs {
    type Shared = Pairs;
}

/// The bound of state: the value must reach as far in the next step.
///
/// ```compile_fail,E0277
/// use pergrad_transforms::prelude::*;
/// fn remember(x: &Value<PerExample>, cx: &Tracer) {
///     // The second examples of the next batch are other ones.
///     cx.state("columns", 0.0, |_| x.gram().mean());
/// }
/// ```
///
/// ```
/// use pergrad_transforms::prelude::*;
/// fn remember(x: &Value<PerExample>, cx: &Tracer) {
///     cx.state("columns", 0.0, |_| x.gram().sum_pairs().mean());
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "state cannot be for pairs of examples, because the examples of the next batch are other ones: fold over the pairs first, as `sum_pairs` does",
    label = "this state would be for pairs of examples"
)]
pub trait Lasting: Extent {}
impl Lasting for Leaf {}
impl Lasting for PerLeaf {}
impl Lasting for Global {}
