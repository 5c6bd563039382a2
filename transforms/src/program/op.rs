//! The operations of a program. This list is the whole language; interpreters know nothing else.

use num_traits::Float;
use serde::{Deserialize, Serialize};

use super::{Axes, ExtraId, HyperId, NodeId, Number, SelectorId, SlotId, StreamId};

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// The gradients: `[B, P]`, or `[P]` for a program over aggregated gradients.
    Grads,
    /// The parameters, `[P]`.
    Params,
    /// The number of steps taken before this one: 0 at the first.
    Step,
    /// The number of examples B.
    BatchSize,
    /// The number of elements P of the leaf.
    LeafSize,
    /// A literal.
    Const(Number),
    /// A hyper-parameter, evaluated at [`Op::Step`].
    Hyper(HyperId),
    /// A named input given at each step: a number, or one number for each example.
    Extra(ExtraId),
    /// A state slot as the last step left it.
    State(SlotId),
    /// Standard normal numbers, other ones at each step, of the extent of the [stream](super::Stream).
    Normal(StreamId),
    /// Whether the leaf is among the selected ones. Known when the program is bound to a model.
    Selected(SelectorId),
    /// An element-wise function.
    Unary(Unary, NodeId),
    /// An element-wise function of two values, broadcast.
    Binary(Binary, NodeId, NodeId),
    /// A comparison; any comparison with NaN is false.
    Compare(Comparison, NodeId, NodeId),
    /// A property of a number.
    Test(Test, NodeId),
    /// Both predicates hold.
    And(NodeId, NodeId),
    /// The predicate does not hold.
    Not(NodeId),
    /// The second operand where the predicate (first operand) holds, else the third. The branch that is not
    /// taken may be NaN without harm.
    Select(NodeId, NodeId, NodeId),
    /// A reduction over the examples: the batch axis ends here.
    OverExamples(Reduction, NodeId),
    /// A reduction over the elements of each leaf.
    OverElements(Fold, NodeId),
    /// A reduction over all leaves.
    OverLeaves(Fold, NodeId),
    /// A reduction along axes of the leaf, whose value is given to every element again: each element gets the fold over all
    /// elements that differ from it along these axes only, itself included. A number for the leaf is read as one for each
    /// element, so that the sum of 1 counts them.
    AlongAxes(Fold, Axes, NodeId),
    /// A product of three matrices, `a b^T c`, of the shape of the leaf. The leaf is read as a matrix: the first axis is its rows,
    /// all others together its columns; a leaf with fewer than two axes is one row.
    Product3(NodeId, NodeId, NodeId),
    /// The products of the examples with each other in each leaf, `[B, P] -> [B, B]`: at `[b, c]` the sum over the elements of
    /// `a[b] * a[c]`.
    Gram(NodeId),
    /// The product of two matrices of pairs, `[B, B]` with `[B, B]` to `[B, B]`: at `[b, c]` the sum over `d` of `x[b, d] * y[d, c]`.
    PairProduct(NodeId, NodeId),
    /// A reduction over the second examples of pairs: `[B, B] -> [B]`, and `[1, B]` to one number.
    OverPairs(Fold, NodeId),
    /// The examples of each pair change places: `[B, B] -> [B, B]`, and between `[B]` and `[1, B]`.
    Transpose(NodeId),
}

impl Op {
    /// The nodes this operation reads.
    pub fn operands(&self) -> impl Iterator<Item = NodeId> + use<> {
        let (a, b, c) = match *self {
            Self::Grads
            | Self::Params
            | Self::Step
            | Self::BatchSize
            | Self::LeafSize
            | Self::Const(_)
            | Self::Hyper(_)
            | Self::Extra(_)
            | Self::State(_)
            | Self::Normal(_)
            | Self::Selected(_) => (None, None, None),
            Self::Unary(_, a)
            | Self::Test(_, a)
            | Self::Not(a)
            | Self::OverExamples(_, a)
            | Self::OverElements(_, a)
            | Self::OverLeaves(_, a)
            | Self::AlongAxes(_, _, a)
            | Self::Gram(a)
            | Self::OverPairs(_, a)
            | Self::Transpose(a) => (Some(a), None, None),
            Self::Binary(_, a, b)
            | Self::Compare(_, a, b)
            | Self::And(a, b)
            | Self::PairProduct(a, b) => (Some(a), Some(b), None),
            Self::Select(a, b, c) | Self::Product3(a, b, c) => (Some(a), Some(b), Some(c)),
        };
        [a, b, c].into_iter().flatten()
    }

    /// The same operation with its operands renamed.
    pub(crate) fn map_operands(self, rename: impl Fn(NodeId) -> NodeId) -> Self {
        let r = rename;
        match self {
            Self::Unary(f, a) => Self::Unary(f, r(a)),
            Self::Binary(f, a, b) => Self::Binary(f, r(a), r(b)),
            Self::Compare(f, a, b) => Self::Compare(f, r(a), r(b)),
            Self::Test(f, a) => Self::Test(f, r(a)),
            Self::And(a, b) => Self::And(r(a), r(b)),
            Self::Not(a) => Self::Not(r(a)),
            Self::Select(a, b, c) => Self::Select(r(a), r(b), r(c)),
            Self::OverExamples(f, a) => Self::OverExamples(f, r(a)),
            Self::OverElements(f, a) => Self::OverElements(f, r(a)),
            Self::OverLeaves(f, a) => Self::OverLeaves(f, r(a)),
            Self::AlongAxes(f, axes, a) => Self::AlongAxes(f, axes, r(a)),
            Self::Product3(a, b, c) => Self::Product3(r(a), r(b), r(c)),
            Self::Gram(a) => Self::Gram(r(a)),
            Self::PairProduct(a, b) => Self::PairProduct(r(a), r(b)),
            Self::OverPairs(f, a) => Self::OverPairs(f, r(a)),
            Self::Transpose(a) => Self::Transpose(r(a)),
            leaf => leaf,
        }
    }
}

/// Element-wise functions of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unary {
    /// `-x`.
    Neg,
    /// `|x|`.
    Abs,
    /// -1, 0 or 1; NaN stays NaN.
    Sign,
    /// `x * x`.
    Square,
    /// The square root; NaN for negative numbers.
    Sqrt,
    /// `e^x`.
    Exp,
    /// The natural logarithm.
    Ln,
    /// The hyperbolic tangent.
    Tanh,
}

impl Unary {
    /// The function itself.
    pub fn apply<T: Float>(self, x: T) -> T {
        match self {
            Self::Neg => -x,
            Self::Abs => x.abs(),
            Self::Sign if x > T::zero() => T::one(),
            Self::Sign if x < T::zero() => -T::one(),
            // Zero or NaN.
            Self::Sign => x,
            Self::Square => x * x,
            Self::Sqrt => x.sqrt(),
            Self::Exp => x.exp(),
            Self::Ln => x.ln(),
            Self::Tanh => x.tanh(),
        }
    }
}

/// Element-wise functions of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binary {
    /// `x + y`.
    Add,
    /// `x - y`.
    Sub,
    /// `x * y`.
    Mul,
    /// `x / y`.
    Div,
    /// `x / y`, and 0 where both are 0. Infinite where only `y` is 0.
    DivOrZero,
    /// The smaller one; NaN if either is.
    Min,
    /// The greater one; NaN if either is.
    Max,
    /// `x` to the power `y`.
    Pow,
}

impl Binary {
    /// The function itself.
    pub fn apply<T: Float>(self, x: T, y: T) -> T {
        match self {
            Self::Add => x + y,
            Self::Sub => x - y,
            Self::Mul => x * y,
            Self::DivOrZero if x == T::zero() && y == T::zero() => T::zero(),
            Self::Div | Self::DivOrZero => x / y,
            Self::Min | Self::Max if x.is_nan() || y.is_nan() => T::nan(),
            Self::Min => x.min(y),
            Self::Max => x.max(y),
            Self::Pow => x.powf(y),
        }
    }

    /// Whether the operands may be exchanged.
    pub(crate) fn commutes(self) -> bool {
        matches!(self, Self::Add | Self::Mul | Self::Min | Self::Max)
    }
}

/// Comparisons of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `x < y`.
    Less,
    /// `x <= y`.
    LessEqual,
    /// `x == y`.
    Equal,
}

impl Comparison {
    /// The comparison itself.
    pub fn apply<T: Float>(self, x: T, y: T) -> bool {
        match self {
            Self::Less => x < y,
            Self::LessEqual => x <= y,
            Self::Equal => x == y,
        }
    }
}

/// Properties of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// It is not a number.
    IsNan,
    /// It is neither NaN nor infinite.
    IsFinite,
}

impl Test {
    /// The test itself.
    pub fn apply<T: Float>(self, x: T) -> bool {
        match self {
            Self::IsNan => x.is_nan(),
            Self::IsFinite => x.is_finite(),
        }
    }
}

/// Reductions over the examples. NaN in one example makes the result NaN in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// The sum; 0 for an empty batch.
    Sum,
    /// The mean.
    Mean,
    /// The mean squared deviation from the mean, divided by `B - ddof`.
    Variance {
        /// Degrees of freedom taken off the divisor: 0 (biased) or 1 (unbiased).
        ddof: usize,
    },
    /// The largest value.
    Max,
    /// The smallest value.
    Min,
    /// The middle value; the mean of the two middle ones if B is even.
    Median,
    /// The mean of what is left when the `k` smallest and the `k` largest values are dropped.
    TrimmedMean {
        /// How many values are dropped at each end.
        k: usize,
    },
}

impl Reduction {
    /// The smallest number of examples for which the reduction has a value.
    pub fn needs(self) -> usize {
        match self {
            Self::Sum => 0,
            Self::Mean | Self::Max | Self::Min | Self::Median => 1,
            Self::Variance { ddof } => ddof.saturating_add(1),
            Self::TrimmedMean { k } => k.saturating_mul(2).saturating_add(1),
        }
    }
}

/// Reductions over elements, leaves or second examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// The sum; 0 of nothing.
    Sum,
    /// The largest value; 0 of nothing, and meant for values that are not negative. NaN if any is.
    Max,
}
