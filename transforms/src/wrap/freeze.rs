//! Zeros in the leaves that are not trained.

use crate::axis::Axis;
use crate::leaves::Leaves;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "freeze",
    family: Family::Wrapper,
    summary: "0 in the selected leaves, g in the others",
    reference: "",
    arguments: &[Argument::required("leaves")],
    build: |args| Ok(Link::both(freeze(args.required_leaves("leaves")?))),
};

/// Zeros in the leaves that are not trained. Built by [`freeze`].
#[derive(Clone, Debug)]
pub struct Freeze {
    leaves: Leaves,
}

/// Sets the gradients of the selected leaves to zero, whatever they are; the others pass unchanged.
///
/// A link after it may still move a frozen leaf: weight decay does. To leave links out of some leaves, see
/// [`selective_transform`](crate::selective_transform).
///
/// # Errors
/// A selection that does not fit the model, when the chain is bound to it.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), freeze(Leaves::matching("embedding.*")), scale(-0.1)))).is_ok());
/// ```
pub fn freeze(leaves: Leaves) -> Freeze {
    Freeze { leaves }
}

impl<In: Axis> Transform<In> for Freeze {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        x.keep_where(&cx.selected(&self.leaves).negate(), 0.0)
    }
}
