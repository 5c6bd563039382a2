//! The share of the examples that an update harms.

use crate::axis::{Aggregated, ExamplesApart, PerExample};
use crate::spec::{Argument, DynLinks, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "harm",
    family: Family::Monitor,
    summary: "the links, with harm.share = mean_b [g_b . update > 0]",
    reference: "after Avranas, 2026, arXiv 2607.16261",
    arguments: &[Argument::required("links")],
    build: |args| {
        let links = DynLinks::<PerExample, Aggregated>::new(&args.links("links")?);
        let links = links.ok_or_else(|| args.unfit("links", UPDATING))?;
        Ok(Link::per_example(harm(links)))
    },
};

const UPDATING: &str = "links that take the examples apart and give one update for each parameter";

/// The share of the examples that an update harms. Built by [`harm`].
#[derive(Clone, Debug)]
pub struct Harm<T> {
    inner: T,
}

/// Applies `inner`, and measures the share of the examples whose loss its update raises, to first order:
/// `harm.share = mean_b [g_b . u > 0]`, from 0 to 1, with products over all leaves.
///
/// The update `u` is added to the parameters, so the loss of example b changes by `g_b . u`. Put the whole optimizer inside, with the
/// learning rate and its sign: the mean alone, which points uphill, "harms" those it should.
///
/// The updates are those of `inner`. A link around links, as it must see what goes in and what comes out; metrics and state inside
/// keep their names.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B = 0 | an error that names the link |
/// | an example at a right angle to the update, or of zeros | not harmed |
/// | an update of zeros, as of a step that is skipped | 0 |
/// | a NaN in an example or in the update | its examples do not count as harmed; the NaN shows in the update |
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let program = optimizer_program(&monitor::harm(adam(1e-3))).unwrap();
/// assert_eq!(program.outputs()[1].name, "harm.share");
/// ```
///
/// # Reference
/// After Avranas, 2026, arXiv 2607.16261; [`least_harm`](crate::least_harm()) keeps the share low.
pub fn harm<T>(inner: T) -> Harm<T> {
    Harm { inner }
}

impl<In, T> Transform<In> for Harm<T>
where
    In: ExamplesApart,
    T: Transform<PerExample, Out = Aggregated>,
{
    type Out = Aggregated;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Aggregated> {
        let x = x.apart();
        let updates = cx.apply(&self.inner, x.clone());
        let harmed = x.dot(&updates).gt(0.0);
        cx.emit("share", &harmed.as_number().mean());
        updates
    }
}
