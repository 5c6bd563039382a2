//! Gradients without their mean.

use crate::axis::Axis;
use crate::leaves::Leaves;
use crate::program::Axes;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "centralize",
    family: Family::Aggregated,
    summary: "g - mean of g over all axes but the first",
    reference: "Yong et al., 2020, arXiv 2004.01461",
    arguments: &[],
    build: |_| Ok(Link::both(centralize())),
};

/// Gradients without their mean. Built by [`centralize`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Centralize;

/// Takes from each gradient its mean over all axes but the first, in the leaves of rank 2 and more; the others pass unchanged.
///
/// In burn's layout a row of a linear layer's weight belongs to an input, a slice of a convolution's to an output channel.
/// Stands before or after the reduction over examples.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), centralize()))).is_ok());
/// ```
///
/// # Reference
/// Yong et al., 2020, arXiv 2004.01461.
pub fn centralize() -> Centralize {
    Centralize
}

impl<In: Axis> Transform<In> for Centralize {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let centered = &x - x.mean_along(Axes::AllBut(0));
        let matrices = cx.by_shape(Leaves::RankAtLeast(2));
        cx.choose(&matrices, &centered, &x)
    }
}
