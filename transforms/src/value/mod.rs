//! `Value`: a symbolic number of a program, with operators.
//!
//! A link never sees a tensor. It gets a handle, writes ordinary arithmetic with it, and each operator adds a node
//! to the program that is being traced. The type parameters say where the batch axis is and how far the value
//! reaches; operators broadcast over both, and the result's type says what came out.

mod operators;
mod pairs;
mod predicate;
mod reductions;

use std::cell::{Ref, RefCell, RefMut};
use std::marker::PhantomData;
use std::rc::Rc;

pub use predicate::Predicate;

use crate::axis::{Aggregated, Axis, Join, PerExample};
use crate::extent::{Extent, Global, Leaf, Widen};
use crate::program::{Binary, Comparison, Graph, NodeId, Number, Op, Test, Unary};

/// The program that is being traced, shared by its values.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct SharedGraph(Rc<RefCell<Graph>>);

impl SharedGraph {
    pub(crate) fn new(graph: Graph) -> Self {
        Self(Rc::new(RefCell::new(graph)))
    }

    fn same_as(&self, other: &Self) {
        assert!(
            Rc::ptr_eq(&self.0, &other.0),
            "a value of one program was used in another: a link must not keep values from one trace for the next"
        );
    }

    pub(crate) fn borrow(&self) -> Ref<'_, Graph> {
        self.0.borrow()
    }

    pub(crate) fn borrow_mut(&self) -> RefMut<'_, Graph> {
        self.0.borrow_mut()
    }
}

/// A symbolic number: with or without the batch axis (`A`); over elements, for each leaf or for all, or for pairs of
/// examples (`E`).
#[derive(Debug)]
pub struct Value<A: Axis, E: Extent = Leaf> {
    graph: SharedGraph,
    node: NodeId,
    kind: PhantomData<(A, E)>,
}

impl<A: Axis, E: Extent> Clone for Value<A, E> {
    fn clone(&self) -> Self {
        Self::new(self.graph.clone(), self.node)
    }
}

/// What can stand at the right of an operator: a value, a reference to one, or a literal.
pub trait Operand {
    /// The axis it brings.
    type Axis: Axis;
    /// The extent it brings.
    type Extent: Extent;
    /// Its node in the graph of the left side.
    #[doc(hidden)]
    fn node_in(&self, graph: &SharedGraph) -> NodeId;
}

impl Operand for f64 {
    type Axis = Aggregated;
    type Extent = Global;
    fn node_in(&self, graph: &SharedGraph) -> NodeId {
        graph.borrow_mut().push(Op::Const(Number(*self)))
    }
}

impl<A: Axis, E: Extent> Operand for Value<A, E> {
    type Axis = A;
    type Extent = E;
    fn node_in(&self, graph: &SharedGraph) -> NodeId {
        self.node_of(graph)
    }
}

impl<T: Operand> Operand for &T {
    type Axis = T::Axis;
    type Extent = T::Extent;
    fn node_in(&self, graph: &SharedGraph) -> NodeId {
        (**self).node_in(graph)
    }
}

pub(crate) type Joined<A, O> = <A as Join<<O as Operand>::Axis>>::Out;
pub(crate) type Widened<E, O> = <E as Widen<<O as Operand>::Extent>>::Out;

impl<A: Axis, E: Extent> Value<A, E> {
    pub(crate) fn new(graph: SharedGraph, node: NodeId) -> Self {
        Self {
            graph,
            node,
            kind: PhantomData,
        }
    }

    /// Its node, for a program that is being traced.
    ///
    /// # Panics
    /// If the value belongs to another program: a link must not keep values from one trace for the next.
    pub(crate) fn node_of(&self, graph: &SharedGraph) -> NodeId {
        graph.same_as(&self.graph);
        self.node
    }

    /// The same value, whose axis the caller has looked up to be [`PerExample`].
    pub(crate) fn assume_per_example(&self) -> Value<PerExample, E> {
        Value::new(self.graph.clone(), self.node)
    }

    /// The same value, whose axis the caller has looked up to be `B`.
    pub(crate) fn assume<B: Axis>(&self) -> Value<B, E> {
        Value::new(self.graph.clone(), self.node)
    }

    /// The same value, whose axis the caller has looked up to be [`Aggregated`].
    pub(crate) fn assume_aggregated(&self) -> Value<Aggregated, E> {
        Value::new(self.graph.clone(), self.node)
    }

    fn push<B: Axis, F: Extent>(&self, op: Op) -> Value<B, F> {
        let node = self.graph.borrow_mut().push(op);
        Value::new(self.graph.clone(), node)
    }

    fn unary(&self, f: Unary) -> Self {
        self.push(Op::Unary(f, self.node))
    }

    fn binary<O: Operand>(&self, f: Binary, other: &O) -> Value<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        let other = other.node_in(&self.graph);
        self.push(Op::Binary(f, self.node, other))
    }

    fn compare<O: Operand>(
        &self,
        f: Comparison,
        other: &O,
        swap: bool,
    ) -> Predicate<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        let (a, b) = (self.node, other.node_in(&self.graph));
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let node = self.graph.borrow_mut().push(Op::Compare(f, a, b));
        Predicate::new(self.graph.clone(), node)
    }

    fn test(&self, f: Test) -> Predicate<A, E> {
        let node = self.graph.borrow_mut().push(Op::Test(f, self.node));
        Predicate::new(self.graph.clone(), node)
    }

    /// `|x|`.
    pub fn abs(&self) -> Self {
        self.unary(Unary::Abs)
    }

    /// -1, 0 or 1; NaN stays NaN.
    pub fn sign(&self) -> Self {
        self.unary(Unary::Sign)
    }

    /// `x * x`.
    pub fn square(&self) -> Self {
        self.unary(Unary::Square)
    }

    /// The square root; NaN for negative numbers.
    pub fn sqrt(&self) -> Self {
        self.unary(Unary::Sqrt)
    }

    /// `e^x`.
    pub fn exp(&self) -> Self {
        self.unary(Unary::Exp)
    }

    /// The natural logarithm.
    pub fn ln(&self) -> Self {
        self.unary(Unary::Ln)
    }

    /// The hyperbolic tangent.
    pub fn tanh(&self) -> Self {
        self.unary(Unary::Tanh)
    }

    /// The smaller of two values; NaN if either is.
    pub fn min<O: Operand>(&self, other: O) -> Value<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.binary(Binary::Min, &other)
    }

    /// The greater of two values; NaN if either is.
    pub fn max<O: Operand>(&self, other: O) -> Value<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.binary(Binary::Max, &other)
    }

    /// `x` to the power `other`.
    pub fn pow<O: Operand>(&self, other: O) -> Value<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.binary(Binary::Pow, &other)
    }

    /// `x < other`.
    pub fn lt<O: Operand>(&self, other: O) -> Predicate<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.compare(Comparison::Less, &other, false)
    }

    /// `x <= other`.
    pub fn le<O: Operand>(&self, other: O) -> Predicate<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.compare(Comparison::LessEqual, &other, false)
    }

    /// `x > other`.
    pub fn gt<O: Operand>(&self, other: O) -> Predicate<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.compare(Comparison::Less, &other, true)
    }

    /// `x >= other`.
    pub fn ge<O: Operand>(&self, other: O) -> Predicate<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.compare(Comparison::LessEqual, &other, true)
    }

    /// `x == other`.
    pub fn equal<O: Operand>(&self, other: O) -> Predicate<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.compare(Comparison::Equal, &other, false)
    }

    /// Whether `x` is not a number.
    pub fn is_nan(&self) -> Predicate<A, E> {
        self.test(Test::IsNan)
    }

    /// Whether `x` is neither NaN nor infinite.
    pub fn is_finite(&self) -> Predicate<A, E> {
        self.test(Test::IsFinite)
    }

    /// `x` where the predicate holds, `otherwise` elsewhere. The value that is not kept may be NaN.
    #[must_use]
    pub fn keep_where<B: Axis, F: Extent>(
        &self,
        predicate: &Predicate<B, F>,
        otherwise: f64,
    ) -> Self
    where
        A: Join<B, Out = A>,
        E: Widen<F, Out = E>,
    {
        let otherwise = otherwise.node_in(&self.graph);
        let predicate = predicate.node_of(&self.graph);
        self.push(Op::Select(predicate, self.node, otherwise))
    }

    /// The weight that brings a norm `x` within a bound: `min(1, bound / x)`, and NaN where the norm is NaN, so that a NaN reaches
    /// every element that is weighted by it.
    pub fn weight_within<O: Operand>(&self, bound: O) -> Value<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        let bound = bound.node_in(&self.graph);
        let mut graph = self.graph.borrow_mut();
        let one = graph.push(Op::Const(Number(1.0)));
        let longer = graph.push(Op::Compare(Comparison::Less, bound, self.node));
        let share = graph.push(Op::Binary(Binary::Div, bound, self.node));
        // A NaN norm compares as false.
        let nan = graph.push(Op::Test(Test::IsNan, self.node));
        let otherwise = graph.push(Op::Select(nan, self.node, one));
        let node = graph.push(Op::Select(longer, share, otherwise));
        Value::new(self.graph.clone(), node)
    }

    /// `x / other`, and 0 where both are 0: nothing divided by nothing is nothing, but a number divided by 0
    /// stays infinite and shows.
    pub fn div_or_zero<O: Operand>(&self, other: O) -> Value<Joined<A, O>, Widened<E, O>>
    where
        A: Join<O::Axis>,
        E: Widen<O::Extent>,
    {
        self.binary(Binary::DivOrZero, &other)
    }
}
