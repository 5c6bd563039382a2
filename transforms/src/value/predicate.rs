//! Truth values of a program, from comparisons and tests.

use std::marker::PhantomData;

use super::{Joined, Operand, SharedGraph, Value, Widened};
use crate::axis::{Axis, Join};
use crate::extent::{Extent, Leaf, Widen};
use crate::program::{NodeId, Number, Op};

/// The kind of `predicate.select(yes, no)`.
type Selected<A, E, Y, N> = Value<
    <Joined<A, Y> as Join<<N as Operand>::Axis>>::Out,
    <Widened<E, Y> as Widen<<N as Operand>::Extent>>::Out,
>;

/// A symbolic truth value, from a comparison or a test.
#[derive(Debug)]
pub struct Predicate<A: Axis, E: Extent = Leaf> {
    graph: SharedGraph,
    pub(super) node: NodeId,
    kind: PhantomData<(A, E)>,
}

impl<A: Axis, E: Extent> Clone for Predicate<A, E> {
    fn clone(&self) -> Self {
        Self::new(self.graph.clone(), self.node)
    }
}

impl<A: Axis, E: Extent> Predicate<A, E> {
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
    /// If the predicate belongs to another program.
    pub(crate) fn node_of(&self, graph: &SharedGraph) -> NodeId {
        graph.same_as(&self.graph);
        self.node
    }

    /// `yes` where the predicate holds, `no` elsewhere. The branch that is not taken may be NaN.
    pub fn select<B, F, Y, N>(&self, yes: Y, no: N) -> Selected<A, E, Y, N>
    where
        Y: Operand<Axis = B, Extent = F>,
        N: Operand,
        B: Axis,
        F: Extent,
        A: Join<B>,
        E: Widen<F>,
        Joined<A, Y>: Join<N::Axis>,
        Widened<E, Y>: Widen<N::Extent>,
    {
        let (yes, no) = (yes.node_in(&self.graph), no.node_in(&self.graph));
        let node = self.graph.borrow_mut().push(Op::Select(self.node, yes, no));
        Value::new(self.graph.clone(), node)
    }

    /// `yes` where the predicate holds, `no` elsewhere, of values of one kind.
    pub fn select_alike<B, F>(&self, yes: &Value<B, F>, no: &Value<B, F>) -> Value<B, F>
    where
        B: Axis + Join<A, Out = B>,
        F: Extent + Widen<E, Out = F>,
    {
        let (yes, no) = (yes.node_of(&self.graph), no.node_of(&self.graph));
        let node = self.graph.borrow_mut().push(Op::Select(self.node, yes, no));
        Value::new(self.graph.clone(), node)
    }

    /// Both hold.
    pub fn and<B: Axis, F: Extent>(
        &self,
        other: &Predicate<B, F>,
    ) -> Predicate<<A as Join<B>>::Out, <E as Widen<F>>::Out>
    where
        A: Join<B>,
        E: Widen<F>,
    {
        let node = self
            .graph
            .borrow_mut()
            .push(Op::And(self.node, other.node_of(&self.graph)));
        Predicate::new(self.graph.clone(), node)
    }

    /// At least one holds.
    pub fn or<B: Axis, F: Extent>(
        &self,
        other: &Predicate<B, F>,
    ) -> Predicate<<A as Join<B>>::Out, <E as Widen<F>>::Out>
    where
        A: Join<B>,
        E: Widen<F>,
    {
        self.negate().and(&other.negate()).negate()
    }

    /// It does not hold.
    #[must_use]
    pub fn negate(&self) -> Self {
        let node = self.graph.borrow_mut().push(Op::Not(self.node));
        Self::new(self.graph.clone(), node)
    }

    /// 1 where it holds, 0 elsewhere.
    pub fn as_number(&self) -> Value<A, E> {
        let mut graph = self.graph.borrow_mut();
        let one = graph.push(Op::Const(Number(1.0)));
        let zero = graph.push(Op::Const(Number(0.0)));
        let node = graph.push(Op::Select(self.node, one, zero));
        Value::new(self.graph.clone(), node)
    }
}
