//! A chain whose links are known only at run time.

use std::borrow::Cow;
use std::marker::PhantomData;

use super::Link;
use super::link::AnyValue;
use crate::axis::{Aggregated, Axis, AxisKind, PerExample};
use crate::error::Error;
use crate::program::Program;
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// A chain built from data. The rules that the compiler checks for a typed chain are checked here by [`out`](Self::out), and
/// by everything that makes a program.
#[derive(Clone, Debug)]
pub struct DynChain {
    links: Vec<(String, Link)>,
}

impl DynChain {
    pub(super) fn new(links: Vec<(String, Link)>) -> Self {
        Self { links }
    }

    /// Checks the order of the links for gradients of an axis, and says what the chain gives.
    ///
    /// # Errors
    /// [`Error::Order`], naming the first link that does not fit, and why.
    pub fn out(&self, input: AxisKind) -> Result<AxisKind, Error> {
        let mut axis = input;
        for (position, (name, link)) in self.links.iter().enumerate() {
            axis = link.out(axis).ok_or_else(|| Error::Order {
                position,
                link: name.clone(),
                takes: other(axis),
                got: axis,
                reason: reason(axis),
            })?;
        }
        Ok(axis)
    }

    /// Traces the chain over gradients of an axis. The updates may still have the examples apart.
    ///
    /// # Errors
    /// A wrong order, or a hyper-parameter that makes no sense.
    pub fn program_over(&self, input: AxisKind) -> Result<Program, Error> {
        self.out(input)?;
        let mut cx = Tracer::new(input);
        let mut x = match input {
            AxisKind::PerExample => AnyValue::PerExample(cx.grads()),
            AxisKind::Aggregated => AnyValue::Aggregated(cx.grads()),
        };
        x = self.trace_any(x, &mut cx);
        match x {
            AnyValue::PerExample(updates) => cx.finish(&updates),
            AnyValue::Aggregated(updates) => cx.finish(&updates),
        }
    }

    /// Traces the chain over per-example gradients into a program with one update for each parameter.
    ///
    /// # Errors
    /// A wrong order, a chain that ends with the examples apart, or a hyper-parameter that makes no sense.
    pub fn optimizer_program(&self) -> Result<Program, Error> {
        if self.out(AxisKind::PerExample)? == AxisKind::PerExample {
            return Err(Error::EndsPerExample);
        }
        self.program_over(AxisKind::PerExample)
    }

    fn trace_any(&self, x: AnyValue, cx: &mut Tracer) -> AnyValue {
        self.links.iter().fold(x, |x, (_, link)| link.trace(x, cx))
    }
}

fn other(axis: AxisKind) -> AxisKind {
    match axis {
        AxisKind::PerExample => AxisKind::Aggregated,
        AxisKind::Aggregated => AxisKind::PerExample,
    }
}

/// Why a link that does not take `axis` cannot stand here.
fn reason(axis: AxisKind) -> &'static str {
    match axis {
        AxisKind::PerExample => {
            "it keeps state or a norm in the shape of the parameters, so move it after a reduction over examples such as `mean`"
        }
        AxisKind::Aggregated => {
            "it needs the examples apart, but they are already reduced, so move it before the reduction over examples or remove one of the two"
        }
    }
}

/// A run-time chain that has been checked to reduce per-example gradients to a statistic.
#[derive(Clone, Debug)]
pub struct DynStatistic(DynChain);

impl DynStatistic {
    /// Checks the chain.
    ///
    /// # Errors
    /// A wrong order, or a chain that ends with the examples apart.
    pub fn new(chain: DynChain) -> Result<Self, Error> {
        match chain.out(AxisKind::PerExample)? {
            AxisKind::Aggregated => Ok(Self(chain)),
            AxisKind::PerExample => Err(Error::EndsPerExample),
        }
    }
}

impl Transform<PerExample> for DynStatistic {
    type Out = Aggregated;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        match self.0.trace_any(AnyValue::PerExample(x), cx) {
            AnyValue::Aggregated(statistic) => statistic,
            AnyValue::PerExample(_) => unreachable!("checked when it was built"),
        }
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}

/// A run-time chain that has been checked to take gradients of one axis and to give gradients of an axis that is known too: what a
/// combinator such as [`masked`](crate::masked()) wraps.
#[derive(Clone, Debug)]
pub struct DynLinks<In, Out> {
    chain: DynChain,
    axes: PhantomData<(In, Out)>,
}

impl<In: Axis, Out: Axis> DynLinks<In, Out> {
    /// The chain, if it takes and gives these.
    pub fn new(chain: &DynChain) -> Option<Self> {
        let fits = chain.out(In::KIND) == Ok(Out::KIND);
        fits.then(|| Self {
            chain: chain.clone(),
            axes: PhantomData,
        })
    }
}

impl<In: Axis, Out: Axis> Transform<In> for DynLinks<In, Out> {
    type Out = Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Out> {
        match self.chain.trace_any(AnyValue::of(&x), cx) {
            AnyValue::PerExample(out) => out.assume(),
            AnyValue::Aggregated(out) => out.assume(),
        }
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}
