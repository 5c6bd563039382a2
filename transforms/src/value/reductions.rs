//! Reductions over examples, elements and leaves, and the axes that a link's bound has shown.

use super::{Predicate, Value};
use crate::axis::{Aggregated, Axis, CanReduce, ExamplesApart, ExamplesReduced, PerExample};
use crate::extent::{EachLeaf, Extent, Global, Leaf, PerLeaf};
use crate::program::{Axes, Fold, NodeId, Number, Op, Reduction};

impl<E: Extent> Value<PerExample, E> {
    /// Ends the batch axis with a reduction over the examples. Of pairs these are the first ones: `[B, B] -> [1, B]`.
    pub fn reduce(&self, reduction: Reduction) -> Value<Aggregated, E> {
        self.push(Op::OverExamples(reduction, self.node))
    }

    /// The mean over the examples.
    pub fn mean(&self) -> Value<Aggregated, E> {
        self.reduce(Reduction::Mean)
    }

    /// The sum over the examples.
    pub fn sum(&self) -> Value<Aggregated, E> {
        self.reduce(Reduction::Sum)
    }
}

impl<A: Axis> Value<A, Leaf> {
    fn over_elements(&self, fold: Fold) -> Value<A, PerLeaf> {
        let node = self.graph.borrow_mut().over_elements(fold, self.node);
        Value::new(self.graph.clone(), node)
    }

    /// The sum over the elements of each leaf.
    pub fn sum_elements(&self) -> Value<A, PerLeaf> {
        self.over_elements(Fold::Sum)
    }

    /// The largest element of each leaf, for values that are not negative.
    pub fn max_element(&self) -> Value<A, PerLeaf> {
        self.over_elements(Fold::Max)
    }

    /// The squared Euclidean norm over all leaves: `[B]` numbers, or one.
    pub fn sq_norm(&self) -> Value<A, Global> {
        self.leaf_sq_norm().sum_leaves()
    }

    /// The squared Euclidean norm of each leaf.
    pub fn leaf_sq_norm(&self) -> Value<A, PerLeaf> {
        self.square().sum_elements()
    }

    /// The Euclidean norm over all leaves: `[B]` numbers, or one.
    pub fn norm(&self) -> Value<A, Global> {
        self.sq_norm().sqrt()
    }

    /// The Euclidean norm of each leaf.
    pub fn leaf_norm(&self) -> Value<A, PerLeaf> {
        self.leaf_sq_norm().sqrt()
    }
}

impl<A: Axis> Value<A, Leaf> {
    /// Whether every element of every leaf that the link sees is neither NaN nor infinite.
    pub fn all_finite(&self) -> Predicate<A, Global> {
        let wrong = self.is_finite().negate().as_number();
        wrong.max_element().max_leaves().equal(0.0)
    }

    fn along<B: Axis>(&self, fold: Fold, axes: Axes, x: NodeId) -> Value<B, Leaf> {
        let node = self.graph.borrow_mut().along_axes(fold, axes, x);
        Value::new(self.graph.clone(), node)
    }

    /// The sum along axes of the leaf, given to every element of the slice again.
    pub fn sum_along(&self, axes: Axes) -> Self {
        self.along(Fold::Sum, axes, self.node)
    }

    /// The mean along axes of the leaf, given to every element of the slice again.
    pub fn mean_along(&self, axes: Axes) -> Self {
        let one = self.graph.borrow_mut().push(Op::Const(Number(1.0)));
        let count: Value<Aggregated, Leaf> = self.along(Fold::Sum, axes, one);
        self.sum_along(axes) / count
    }

    /// The largest along axes of the leaf, given to every element of the slice again, for values that are not negative.
    pub fn max_along(&self, axes: Axes) -> Self {
        self.along(Fold::Max, axes, self.node)
    }

    /// The product `self b^T c` of leaves as matrices: the first axis of a leaf is the rows, the others together are the columns,
    /// and a leaf with fewer than two axes is one row.
    pub fn times_transposed(&self, b: &Self, c: &Self) -> Self {
        let (b, c) = (b.node_of(&self.graph), c.node_of(&self.graph));
        let node = self.graph.borrow_mut().product3([self.node, b, c]);
        Value::new(self.graph.clone(), node)
    }
}

impl<A: Axis, E: EachLeaf> Value<A, E> {
    fn over_leaves(&self, fold: Fold) -> Value<A, E::Shared> {
        let node = self.graph.borrow_mut().over_leaves(fold, self.node);
        Value::new(self.graph.clone(), node)
    }

    /// The sum over all leaves that the link sees.
    pub fn sum_leaves(&self) -> Value<A, E::Shared> {
        self.over_leaves(Fold::Sum)
    }

    /// The largest over all leaves that the link sees, for values that are not negative.
    pub fn max_leaves(&self) -> Value<A, E::Shared> {
        self.over_leaves(Fold::Max)
    }
}

impl<A: CanReduce, E: Extent> Value<A, E> {
    /// The same value, whose axis the bound has shown to be [`PerExample`].
    pub(crate) fn to_reduce(&self) -> Value<PerExample, E> {
        self.assume_per_example()
    }
}

impl<A: ExamplesApart, E: Extent> Value<A, E> {
    /// The same value, whose axis the bound has shown to be [`PerExample`].
    pub(crate) fn apart(&self) -> Value<PerExample, E> {
        self.assume_per_example()
    }
}

impl<E: Extent> Value<Aggregated, E> {
    /// The same value under the name that a link's bound gives to [`Aggregated`]. Such a link has `Out = In`, so that in a wrong
    /// order the compiler complains of the link itself and of nothing after it.
    pub(crate) fn as_input<In: ExamplesReduced>(&self) -> Value<In, E> {
        Value::new(self.graph.clone(), self.node)
    }
}

impl<A: ExamplesReduced, E: Extent> Value<A, E> {
    /// The same value, whose axis the bound has shown to be [`Aggregated`].
    pub(crate) fn reduced(&self) -> Value<Aggregated, E> {
        self.assume_aggregated()
    }
}
