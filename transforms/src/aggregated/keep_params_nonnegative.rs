//! Updates that leave no parameter below 0.

use crate::axis::ExamplesReduced;
use crate::spec::{Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "keep_params_nonnegative",
    family: Family::Aggregated,
    summary: "max(u, -p)",
    reference: "",
    arguments: &[],
    build: |_| Ok(Link::aggregated(keep_params_nonnegative())),
};

/// Updates that leave no parameter below 0. Built by [`keep_params_nonnegative`].
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepParamsNonnegative;

/// Cuts each update so that the parameter after it is not negative: `u` where `p + u >= 0`, else `-p`. It must stand after the
/// learning rate, as the last link.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | a negative parameter | set to 0, or further up by the update |
/// | update NaN | NaN: it shows |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((mean(), scale(-0.1), keep_params_nonnegative()))).is_ok());
/// ```
pub fn keep_params_nonnegative() -> KeepParamsNonnegative {
    KeepParamsNonnegative
}

impl<In: ExamplesReduced> Transform<In> for KeepParamsNonnegative {
    type Out = In;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        let x = x.reduced();
        let params = cx.params();
        (&params + &x).lt(0.0).select(-params, x).as_input()
    }
}
