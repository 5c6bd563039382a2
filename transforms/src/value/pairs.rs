//! Products of the examples: with a direction, and with each other.
//!
//! The Gram matrix `K` of the gradients, `K[b, c] = g_b . g_c`, says how examples help (above 0) or harm each other. It is a value
//! like any other: `K - p` takes `p[b]` from row b, `K - p.across()` takes `p[c]` from column c.

use super::Value;
use crate::axis::{Aggregated, Axis, PerExample};
use crate::extent::{Global, Leaf, LeafPairs, OfPairs, Paired, Pairs, PerLeaf, Widen};
use crate::program::{Fold, Op};

impl Value<PerExample, Leaf> {
    /// The product of each example with a direction over all leaves, `[B]`.
    ///
    /// For a gradient and an update it is how much the update changes the loss of the example, to first order.
    pub fn dot(&self, direction: &Value<Aggregated, Leaf>) -> Value<PerExample, Global> {
        self.leaf_dot(direction).sum_leaves()
    }

    /// The product of each example with a direction in each leaf, `[B]` for each leaf.
    pub fn leaf_dot(&self, direction: &Value<Aggregated, Leaf>) -> Value<PerExample, PerLeaf> {
        (self * direction).sum_elements()
    }

    /// The Gram matrix over all leaves, `[B, B]`: the product of each example with each other one, and on the diagonal the squared
    /// norms.
    ///
    /// # Edge cases
    /// | examples | result |
    /// |--|--|
    /// | B = 0 | no number |
    /// | B = 1 | the squared norm |
    /// | without elements (P = 0) | zeros |
    /// | one with a NaN | NaN in its row and its column, and nowhere else |
    /// | one with an infinity | infinite or NaN in its row and its column, and nowhere else |
    ///
    /// # Example
    /// The cosine of each pair of examples, as a metric.
    /// ```
    /// use pergrad_transforms::prelude::*;
    ///
    /// #[derive(Clone, Debug)]
    /// struct Cosines;
    ///
    /// impl Transform<PerExample> for Cosines {
    ///     type Out = PerExample;
    ///     fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
    ///         let norm = x.norm();
    ///         cx.emit("cosine", &x.gram().div_or_zero(&norm * norm.across()));
    ///         x
    ///     }
    /// }
    ///
    /// let program = program(&chain((Cosines, mean()))).unwrap();
    /// assert!(program.to_string().contains(": [B,B]"));
    /// ```
    ///
    /// # Reference
    /// Goodfellow, 2015, arXiv 1510.01799, takes the norms; for one dense layer `K` is `(X X^T) * (D D^T)`, element by element.
    pub fn gram(&self) -> Value<PerExample, Pairs> {
        self.leaf_gram().sum_leaves()
    }

    /// The Gram matrix of each leaf, `[B, B]` for each leaf. [`gram`](Self::gram) is their sum.
    pub fn leaf_gram(&self) -> Value<PerExample, LeafPairs> {
        let node = self.graph.borrow_mut().gram(self.node);
        Value::new(self.graph.clone(), node)
    }
}

impl<E: Paired> Value<PerExample, E> {
    /// A number for each example as a number for each second example of a pair, `[B] -> [1, B]`: a row beside which the value
    /// itself is a column. [`down`](Value::down) is the way back.
    pub fn across(&self) -> Value<Aggregated, E::Pairs> {
        self.push(Op::Transpose(self.node))
    }
}

impl<E: OfPairs> Value<Aggregated, E> {
    /// A number for each second example as a number for each example, `[1, B] -> [B]`. [`across`](Value::across) is the way back.
    pub fn down(&self) -> Value<PerExample, E::One> {
        self.push(Op::Transpose(self.node))
    }
}

impl<E: OfPairs> Value<PerExample, E> {
    /// The product of two matrices of pairs, `[B, B]` with `[B, B]` to `[B, B]`: at `[b, c]` the sum over `d` of
    /// `self[b, d] * other[d, c]`.
    pub fn product<F: OfPairs>(
        &self,
        other: &Value<PerExample, F>,
    ) -> Value<PerExample, <E as Widen<F>>::Out>
    where
        E: Widen<F>,
    {
        let other = other.node_of(&self.graph);
        self.push(Op::PairProduct(self.node, other))
    }

    /// The examples of each pair change places, `[B, B] -> [B, B]`.
    pub fn transpose(&self) -> Self {
        self.push(Op::Transpose(self.node))
    }
}

impl<A: Axis, E: OfPairs> Value<A, E> {
    /// The sum over the second examples: `[B, B] -> [B]`, and `[1, B]` to one number. 0 for an empty batch.
    pub fn sum_pairs(&self) -> Value<A, E::One> {
        self.push(Op::OverPairs(Fold::Sum, self.node))
    }

    /// The largest over the second examples, for values that are not negative: `[B, B] -> [B]`, and `[1, B]` to one number. 0 for
    /// an empty batch.
    pub fn max_pairs(&self) -> Value<A, E::One> {
        self.push(Op::OverPairs(Fold::Max, self.node))
    }

    /// The product of a matrix with a vector, `[B, B]` with `[B]` to `[B]`: at `b` the sum over `c` of `self[b, c] * x[c]`.
    ///
    /// A NaN in the matrix shows in its row even where `x` is 0.
    pub fn times(&self, x: &Value<PerExample, Global>) -> Value<A, E::One> {
        (self * x.across()).sum_pairs()
    }
}
