//! A link whose type is forgotten: what the catalogue builds.

use std::sync::Arc;

use crate::axis::{Aggregated, Axis, AxisKind, PerExample};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// Gradients of an axis that is known only at run time.
#[derive(Clone, Debug)]
pub(super) enum AnyValue {
    PerExample(Value<PerExample>),
    Aggregated(Value<Aggregated>),
}

impl AnyValue {
    pub(super) fn of<A: Axis>(value: &Value<A>) -> Self {
        match A::KIND {
            AxisKind::PerExample => Self::PerExample(value.assume_per_example()),
            AxisKind::Aggregated => Self::Aggregated(value.assume_aggregated()),
        }
    }
}

type TraceFn<In> = Arc<dyn Fn(Value<In>, &mut Tracer) -> AnyValue + Send + Sync>;

/// A link whose type is forgotten; it remembers which axes it takes and what it gives for each.
#[derive(Clone)]
pub struct Link {
    per_example: Option<(TraceFn<PerExample>, AxisKind)>,
    aggregated: Option<(TraceFn<Aggregated>, AxisKind)>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field(
                "per_example",
                &self.per_example.as_ref().map(|(_, out)| out),
            )
            .field("aggregated", &self.aggregated.as_ref().map(|(_, out)| out))
            .finish()
    }
}

fn forget<In: Axis, T>(link: Arc<T>) -> Option<(TraceFn<In>, AxisKind)>
where
    T: Transform<In> + Send + Sync + 'static,
{
    let trace: TraceFn<In> = Arc::new(move |x, cx| AnyValue::of(&cx.apply(&*link, x)));
    Some((trace, T::Out::KIND))
}

impl Link {
    /// A link that takes per-example and aggregated gradients.
    pub fn both<T>(link: T) -> Self
    where
        T: Transform<PerExample> + Transform<Aggregated> + Send + Sync + 'static,
    {
        let link = Arc::new(link);
        Self {
            per_example: forget::<PerExample, T>(link.clone()),
            aggregated: forget::<Aggregated, T>(link),
        }
    }

    /// A link that takes per-example gradients only.
    pub fn per_example<T: Transform<PerExample> + Send + Sync + 'static>(link: T) -> Self {
        Self {
            per_example: forget(Arc::new(link)),
            aggregated: None,
        }
    }

    /// A link that takes aggregated gradients only.
    pub fn aggregated<T: Transform<Aggregated> + Send + Sync + 'static>(link: T) -> Self {
        Self {
            per_example: None,
            aggregated: forget(Arc::new(link)),
        }
    }

    /// A link that takes what it is given for: per-example gradients, aggregated ones, or both.
    pub fn either<P, A>(per_example: Option<P>, aggregated: Option<A>) -> Self
    where
        P: Transform<PerExample> + Send + Sync + 'static,
        A: Transform<Aggregated> + Send + Sync + 'static,
    {
        Self {
            per_example: per_example.and_then(|link| forget(Arc::new(link))),
            aggregated: aggregated.and_then(|link| forget(Arc::new(link))),
        }
    }

    /// What the link gives for gradients of an axis; nothing if it does not take them.
    pub fn out(&self, input: AxisKind) -> Option<AxisKind> {
        match input {
            AxisKind::PerExample => self.per_example.as_ref().map(|(_, out)| *out),
            AxisKind::Aggregated => self.aggregated.as_ref().map(|(_, out)| *out),
        }
    }

    pub(super) fn trace(&self, x: AnyValue, cx: &mut Tracer) -> AnyValue {
        const CHECKED: &str = "the axes were checked when the chain was built";
        match x {
            AnyValue::PerExample(x) => self.per_example.as_ref().expect(CHECKED).0(x, cx),
            AnyValue::Aggregated(x) => self.aggregated.as_ref().expect(CHECKED).0(x, cx),
        }
    }
}
