//! `Tracer`: what a link can ask for while it is traced into a program.

use crate::axis::{Aggregated, Axis, AxisKind, PerExample};
use crate::error::Error;
use crate::extent::{Extent, Global, Lasting, Leaf, PerLeaf};
use crate::hyper::{Domain, Hyper};
use crate::leaves::Leaves;
use crate::program::{Axes, Fold, Graph, NodeId, Number, Op, Program};
use crate::random::Seed;
use crate::transform::Transform;
use crate::value::{Predicate, SharedGraph, Value};

/// The program under construction. Links get it as `cx` and ask it for parameters, state and hyper-parameters.
#[derive(Debug)]
pub struct Tracer {
    pub(crate) graph: SharedGraph,
}

/// A piece of state: its value before this step, and the right to set the next one.
#[derive(Debug)]
pub struct StateSlot<E: Lasting> {
    pub(crate) slot: u32,
    before: Value<Aggregated, E>,
}

impl<E: Lasting> StateSlot<E> {
    /// The value that the last step left.
    pub fn before(&self) -> Value<Aggregated, E> {
        self.before.clone()
    }
}

impl Tracer {
    pub(crate) fn new(input: AxisKind) -> Self {
        Self {
            graph: SharedGraph::new(Graph::new(input)),
        }
    }

    fn value<A: Axis, E: Extent>(&self, op: Op) -> Value<A, E> {
        let node = self.graph.borrow_mut().push(op);
        Value::new(self.graph.clone(), node)
    }

    pub(crate) fn grads<A: Axis>(&self) -> Value<A> {
        self.value(Op::Grads)
    }

    /// Applies another link to `x`. Combinators and aliases build on this.
    pub fn apply<In: Axis, T: Transform<In> + ?Sized>(
        &mut self,
        link: &T,
        x: Value<In>,
    ) -> Value<T::Out> {
        let name = link.name();
        match name {
            Some(name) => {
                self.graph.borrow_mut().enter(name.into_owned());
                let out = link.trace(x, self);
                self.graph.borrow_mut().exit();
                out
            }
            None => link.trace(x, self),
        }
    }

    /// A literal. Operators take `f64` directly; this is for the left side of methods.
    pub fn constant(&self, x: f64) -> Value<Aggregated, Global> {
        self.value(Op::Const(Number(x)))
    }

    fn node<A: Axis, E: Extent>(&self, make: impl FnOnce(&mut Graph) -> NodeId) -> Value<A, E> {
        let node = make(&mut self.graph.borrow_mut());
        Value::new(self.graph.clone(), node)
    }

    /// The parameters, `[P]`.
    pub fn params(&self) -> Value<Aggregated, Leaf> {
        self.node(Graph::params)
    }

    /// The number of steps that the link has taken before this one: 0 at the first. Steps that a [guard](Self::guarded) around
    /// the link has skipped do not count.
    pub fn step(&self) -> Value<Aggregated, Global> {
        self.node(Graph::count)
    }

    /// The number of examples B of this batch.
    pub fn batch_size(&self) -> Value<Aggregated, Global> {
        self.value(Op::BatchSize)
    }

    /// The number of elements of the leaf.
    pub fn leaf_size(&self) -> Value<Aggregated, PerLeaf> {
        self.node(Graph::leaf_size)
    }

    /// How many elements a fold along axes of the leaf takes together, given to every element.
    pub fn count_along(&self, axes: Axes) -> Value<Aggregated, Leaf> {
        let one = self.constant(1.0).node_of(&self.graph);
        self.node(|graph| graph.along_axes(Fold::Sum, axes, one))
    }

    /// The number 1 for each leaf; its [`sum_leaves`](Value::sum_leaves) is the number of leaves.
    pub fn one_per_leaf(&self) -> Value<Aggregated, PerLeaf> {
        self.node(Graph::one_per_leaf)
    }

    /// Whether the leaf is among `leaves`. Known when the chain is bound to a model, so that a `select` on it
    /// costs nothing.
    pub fn selected(&self, leaves: &Leaves) -> Predicate<Aggregated, PerLeaf> {
        let node = self.graph.borrow_mut().selected(leaves);
        Predicate::new(self.graph.clone(), node)
    }

    /// Leaves that a link itself chooses by their shape; inside [`flatten`](crate::flatten()) there is one vector only.
    pub(crate) fn by_shape(&self, leaves: Leaves) -> Leaves {
        self.graph.borrow().by_shape(leaves)
    }

    /// `yes` in the selected leaves, `no` in the others.
    pub fn choose<A: Axis>(&self, leaves: &Leaves, yes: &Value<A>, no: &Value<A>) -> Value<A> {
        let selected = self.graph.borrow_mut().selected(leaves);
        let (yes, no) = (yes.node_of(&self.graph), no.node_of(&self.graph));
        self.value(Op::Select(selected, yes, no))
    }

    /// A hyper-parameter named `"link.field"`, or as the user named it, evaluated at [`step`](Self::step).
    ///
    /// A value outside `domain` makes the whole chain an error that names the link.
    pub fn hyper(&self, field: &str, hyper: &Hyper, domain: Domain) -> Value<Aggregated, Global> {
        let node = self.graph.borrow_mut().hyper(field, hyper, domain);
        Value::new(self.graph.clone(), node)
    }

    /// The same, evaluated at what a piece of state counts.
    pub fn hyper_at(
        &self,
        field: &str,
        hyper: &Hyper,
        domain: Domain,
        count: &StateSlot<Global>,
    ) -> Value<Aggregated, Global> {
        self.node(|graph| graph.hyper_at(field, hyper, domain, Some(count.slot)))
    }

    /// Standard normal numbers named `"link.field"`, other ones at each step and for each call: for each element, for each leaf, or
    /// one. All examples have the same.
    ///
    /// The numbers depend on the seed, on how many random streams the chain has asked for before, on [`step`](Self::step), on the
    /// leaf and on the element. Inside links that [begin anew](Self::resetting) they go on. A [guard](Self::guarded) that depends on
    /// the gradients makes each step read one number back, so put the noise outside where you can.
    ///
    /// # Example
    /// Noise on the length of the gradient, and none on its direction.
    /// ```
    /// use pergrad_transforms::prelude::*;
    /// use pergrad_transforms::{Aggregated, Global};
    ///
    /// #[derive(Clone, Debug)]
    /// struct Jitter(Seed);
    ///
    /// impl Transform<Aggregated> for Jitter {
    ///     type Out = Aggregated;
    ///     fn trace(&self, x: Value<Aggregated>, cx: &mut Tracer) -> Value<Aggregated> {
    ///         x * (cx.normal::<Global>("length", &self.0) * 0.1).exp()
    ///     }
    /// }
    ///
    /// let program = program(&chain((mean(), Jitter(Seed::from(7))))).unwrap();
    /// assert_eq!(program.streams()[0].name, "jitter.length");
    /// ```
    pub fn normal<E: Lasting>(&self, field: &str, seed: &Seed) -> Value<Aggregated, E> {
        self.node(|graph| graph.normal(field, seed, E::KIND))
    }

    /// A named number that the caller gives at each step, such as the loss.
    pub fn extra(&self, name: &str) -> Value<Aggregated, Global> {
        let node = self.graph.borrow_mut().extra(name, AxisKind::Aggregated);
        Value::new(self.graph.clone(), node)
    }

    /// A named input of one number for each example that the caller gives at each step, `[B]`.
    pub fn example_extra(&self, name: &str) -> Value<PerExample, Global> {
        let node = self.graph.borrow_mut().extra(name, AxisKind::PerExample);
        Value::new(self.graph.clone(), node)
    }

    /// A piece of state. It has the shape of the parameters, or is a number (for each leaf): there is no state
    /// with a batch axis or for pairs of examples, because the examples of the next batch are other ones.
    pub fn slot<E: Lasting>(&self, field: &str, init: f64) -> StateSlot<E> {
        let (slot, node) = self.graph.borrow_mut().slot(field, E::KIND, init);
        StateSlot {
            slot,
            before: Value::new(self.graph.clone(), node),
        }
    }

    /// Sets what the state holds after this step.
    pub fn set<E: Lasting>(&self, slot: StateSlot<E>, next: &Value<Aggregated, E>) {
        // A slot of another program has its value there.
        let _ = slot.before.node_of(&self.graph);
        self.graph
            .borrow_mut()
            .set_slot(slot.slot, next.node_of(&self.graph));
    }

    /// A piece of state in one go: `update` maps the old value to the new one, which is stored and returned.
    pub fn state<E: Lasting>(
        &self,
        field: &str,
        init: f64,
        update: impl FnOnce(Value<Aggregated, E>) -> Value<Aggregated, E>,
    ) -> Value<Aggregated, E> {
        let slot = self.slot(field, init);
        let next = update(slot.before());
        self.set(slot, &next);
        next
    }

    /// [`state`](Self::state) that begins with a number of the user's: one that is not finite makes the whole chain an error.
    pub fn state_from<E: Lasting>(
        &self,
        field: &str,
        init: f64,
        update: impl FnOnce(Value<Aggregated, E>) -> Value<Aggregated, E>,
    ) -> Value<Aggregated, E> {
        let name = self.graph.borrow().name_of("init");
        if let Err(error) = Domain::Finite.check(&name, init) {
            self.fail(error);
        }
        self.state(field, init, update)
    }

    /// Gives a value out as a metric named `"link.field"`, beside the updates.
    pub fn emit<A: Axis, E: Extent>(&self, field: &str, value: &Value<A, E>) {
        let node = value.node_of(&self.graph);
        self.graph.borrow_mut().emit(field, node);
    }

    /// Makes the whole chain an error. The first one counts; tracing may go on.
    pub fn fail(&self, error: Error) {
        self.graph.borrow_mut().fail(error);
    }

    pub(crate) fn kind_of<A: Axis>(&self, value: &Value<A>) -> AxisKind {
        let node = value.node_of(&self.graph);
        self.graph.borrow().node_type(node).axis
    }

    pub(crate) fn finish<A: Axis>(self, updates: &Value<A>) -> Result<Program, Error> {
        let node = updates.node_of(&self.graph);
        let graph = std::mem::replace(
            &mut *self.graph.borrow_mut(),
            Graph::new(AxisKind::Aggregated),
        );
        graph.finish(node)
    }
}
