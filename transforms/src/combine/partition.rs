//! Links for each part of the model.

use std::borrow::Cow;

use crate::axis::{Aggregated, Axis, PerExample};
use crate::leaves::Leaves;
use crate::spec::{Argument, DynChain, DynLinks, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "partition",
    family: Family::Wrapper,
    summary: "in each leaf the links of the first part that selects it",
    reference: "",
    arguments: &[Argument::required("parts")],
    build: |args| {
        let parts = args.parts("parts")?;
        let apart = DynParts::<PerExample, PerExample>::new(&parts);
        let reducing = DynParts::<PerExample, Aggregated>::new(&parts);
        let reduced = DynParts::<Aggregated, Aggregated>::new(&parts);
        match (apart, reducing, reduced) {
            (None, None, None) => Err(args.unfit("parts", PARTS)),
            (None, reducing, reduced) => Ok(Link::either(reducing, reduced)),
            (apart, _, reduced) => Ok(Link::either(apart, reduced)),
        }
    },
};

const PARTS: &str = "parts that all take the same gradients and give the same";

/// Links for each part of the model. Built by [`partition`].
#[derive(Clone, Debug)]
pub struct Partition<Parts>(Parts);

/// Divides the leaves of the model into parts, each with links of its own: a tuple of up to 8 pairs of a selection and a link.
///
/// A leaf belongs to the **first** part that selects it, so that a last part for [`Leaves::All`] is for the rest. The links of a
/// part see its leaves only: a norm inside is over them, and there is no state for other leaves.
///
/// All parts take the same and give the same; each may reduce over the examples in its own way.
///
/// # Errors
/// [`Error::Unassigned`](crate::Error::Unassigned), naming a leaf that is in no part, when the chain is bound to a model.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let parts = partition((
///     (Leaves::matching("*.bias"), sgd(0.01)),
///     (Leaves::matching("embedding.*"), chain((median(), scale(-0.1)))),
///     (Leaves::All, adam(1e-3)),
/// ));
/// assert!(optimizer_program(&parts).is_ok());
/// ```
pub fn partition<Parts>(parts: Parts) -> Partition<Parts> {
    Partition(parts)
}

/// What a part gives, chosen over what came before in its leaves.
fn part<In: Axis, T: Transform<In>>(
    of: &[Leaves],
    at: usize,
    link: &T,
    x: &Value<In>,
    before: Option<Value<T::Out>>,
    cx: &mut Tracer,
) -> Value<T::Out> {
    let leaves = match of {
        [Leaves::All] => Leaves::All,
        of => Leaves::Part {
            of: of.to_vec(),
            at,
        },
    };
    let x = x.clone();
    let inner = cx.within(&leaves, |cx| cx.apply(link, x));
    match (before, of) {
        (Some(before), _) => cx.choose(&leaves, &inner, &before),
        // The only part must still select every leaf, so the program must ask.
        (None, [only]) if *only != Leaves::All => cx.choose(&leaves, &inner, &inner),
        (None, _) => inner,
    }
}

macro_rules! impl_partition {
    ($first:ident $first_at:tt $(, $link:ident $at:tt)*) => {
        impl<In, $first, $($link,)*> Transform<In>
            for Partition<((Leaves, $first), $((Leaves, $link),)*)>
        where
            In: Axis,
            $first: Transform<In>,
            $($link: Transform<In, Out = $first::Out>,)*
        {
            type Out = $first::Out;

            fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Self::Out> {
                let of = [self.0.$first_at.0.clone(), $(self.0.$at.0.clone()),*];
                let out = part(&of, $first_at, &self.0.$first_at.1, &x, None, cx);
                $(let out = part(&of, $at, &self.0.$at.1, &x, Some(out), cx);)*
                out
            }

            fn name(&self) -> Option<Cow<'static, str>> {
                None
            }
        }
    };
}

impl_partition!(A 0);
impl_partition!(A 0, B 1);
impl_partition!(A 0, B 1, C 2);
impl_partition!(A 0, B 1, C 2, D 3);
impl_partition!(A 0, B 1, C 2, D 3, E 4);
impl_partition!(A 0, B 1, C 2, D 3, E 4, F 5);
impl_partition!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
impl_partition!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The parts of a specification.
struct DynParts<In, Out>(Vec<(Leaves, DynLinks<In, Out>)>);

impl<In: Axis, Out: Axis> DynParts<In, Out> {
    /// The parts, if there are any and all take and give these.
    fn new(parts: &[(Leaves, DynChain)]) -> Option<Self> {
        let typed = |(leaves, chain): &(Leaves, DynChain)| {
            DynLinks::new(chain).map(|links| (leaves.clone(), links))
        };
        let parts: Vec<_> = parts.iter().map(typed).collect::<Option<_>>()?;
        (!parts.is_empty()).then_some(Self(parts))
    }
}

impl<In: Axis, Out: Axis> Transform<In> for DynParts<In, Out> {
    type Out = Out;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Out> {
        let of: Vec<Leaves> = self.0.iter().map(|(leaves, _)| leaves.clone()).collect();
        let parts = self.0.iter().enumerate();
        let out = parts.fold(None, |out, (at, (_, links))| {
            Some(part(&of, at, links, &x, out, cx))
        });
        out.expect("there is a part")
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}
