//! Where the batch axis is: the two states a gradient can be in, as types.
//!
//! A gradient is [`PerExample`] (shape `[B, ..p]`, one slice for each of the B examples) until a link reduces
//! over the examples, and [`Aggregated`] (shape `[..p]`) from then on. The traits at the end of this file are
//! the bounds of the link families; each carries the sentence the compiler prints when a chain has its links
//! in an order that has no meaning.

use serde::{Deserialize, Serialize};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::PerExample {}
    impl Sealed for super::Aggregated {}
}

/// The examples are still apart: values have a leading axis of length B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PerExample;

/// The examples are reduced: values have the shape of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aggregated;

/// [`PerExample`] or [`Aggregated`] as a value, for programs and run-time chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// The shape of the parameters, `[..p]`.
    Aggregated,
    /// One slice for each example, `[B, ..p]`.
    PerExample,
}

impl std::fmt::Display for AxisKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Aggregated => "aggregated [..p]",
            Self::PerExample => "per-example [B, ..p]",
        })
    }
}

/// One of the two states of a gradient. Sealed: there are only [`PerExample`] and [`Aggregated`].
pub trait Axis:
    sealed::Sealed
    + Join<Self, Out = Self>
    + Join<Aggregated, Out = Self>
    + Copy
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// The same state as a value.
    const KIND: AxisKind;
}

impl Axis for PerExample {
    const KIND: AxisKind = AxisKind::PerExample;
}

impl Axis for Aggregated {
    const KIND: AxisKind = AxisKind::Aggregated;
}

/// The axis of `x op y` under broadcasting: per example as soon as one side is.
pub trait Join<Other> {
    /// The axis of the result.
    type Out: Axis;
}

impl Join<PerExample> for PerExample {
    type Out = PerExample;
}
impl Join<Aggregated> for PerExample {
    type Out = PerExample;
}
impl Join<PerExample> for Aggregated {
    type Out = PerExample;
}
impl Join<Aggregated> for Aggregated {
    type Out = Aggregated;
}

/// The bound of reductions over examples (`mean`, `sum`, `median`, ...): the batch axis must still be there.
///
/// ```compile_fail,E0277
/// use pergrad_transforms::prelude::*;
/// // The mean leaves no examples for the second one to average.
/// let _ = program(&chain((mean(), mean())));
/// ```
///
/// ```
/// use pergrad_transforms::prelude::*;
/// let _ = program(&chain((sign(), mean()))).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "the examples are already reduced: a chain can reduce over examples only once, so remove this reduction or the earlier one",
    label = "this link reduces over examples, but an earlier link already has"
)]
pub trait CanReduce: Axis {}
impl CanReduce for PerExample {}

/// The bound of links that treat each example on its own (`clip_per_example`, ...): they need the batch axis.
///
/// ```compile_fail,E0277
/// use pergrad_transforms::prelude::*;
/// let _ = program(&chain((mean(), clip_per_example(1.0))));
/// ```
///
/// ```
/// use pergrad_transforms::prelude::*;
/// let _ = program(&chain((clip_per_example(1.0), mean()))).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "this link treats each example on its own, but the gradients that reach it are already reduced over examples: move it before the reduction, and start from per-example gradients",
    label = "this link needs the examples apart"
)]
pub trait ExamplesApart: Axis {}
impl ExamplesApart for PerExample {}

/// The bound of links that keep state (`ema`, `trace`, ...): their state has the shape of the parameters.
///
/// ```compile_fail,E0277
/// use pergrad_transforms::prelude::*;
/// // One moving average for each example has no meaning: the next batch has other examples.
/// let _ = program(&chain((ema(0.9), mean())));
/// ```
///
/// ```
/// use pergrad_transforms::prelude::*;
/// let _ = program(&chain((mean(), ema(0.9)))).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "this link keeps state in the shape of the parameters, so it must stand after a reduction over examples such as `mean()`",
    label = "this link keeps state, and the examples of the next batch are other ones"
)]
pub trait ExamplesReduced: Axis {}
impl ExamplesReduced for Aggregated {}

/// What an optimizer's chain must end with: updates in the shape of the parameters.
///
/// ```compile_fail,E0277
/// use pergrad_transforms::prelude::*;
/// let _ = optimizer_program(&chain((sign(), clip_per_example(1.0))));
/// ```
///
/// ```
/// use pergrad_transforms::prelude::*;
/// let _ = optimizer_program(&chain((sign(), clip_per_example(1.0), mean()))).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "an optimizer's chain must end with one update for each parameter, but this one still has the examples apart: add a reduction over examples such as `mean()`",
    label = "this chain ends with per-example gradients"
)]
pub trait Updates: Axis {}
impl Updates for Aggregated {}
