//! `Transform`: the one trait of a link, and how a chain becomes a program.

use std::borrow::Cow;

use crate::axis::{Axis, PerExample, Updates};
use crate::error::Error;
use crate::program::Program;
use crate::tracer::Tracer;
use crate::value::Value;

/// A link of a chain: a function from gradients to gradients, written once over symbolic values.
///
/// `In` says whether the link takes per-example or aggregated gradients, [`Out`](Self::Out) what it gives. A link that
/// holds for both implements `Transform<In>` for every `In: Axis`.
///
/// # Example
/// A link of one's own: each example's gradient, squashed by `tanh`.
/// ```
/// use pergrad_transforms::prelude::*;
///
/// #[derive(Clone, Debug)]
/// struct Squash;
///
/// impl<In: Axis> Transform<In> for Squash {
///     type Out = In;
///     fn trace(&self, x: Value<In>, _cx: &mut Tracer) -> Value<In> {
///         x.tanh()
///     }
/// }
///
/// let program = program(&chain((Squash, mean(), scale(-0.1)))).unwrap();
/// assert!(program.to_string().contains("tanh g"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a link that takes {In} gradients",
    label = "this is not a link for {In} gradients",
    note = "a link implements `Transform<PerExample>` before the reduction over examples and `Transform<Aggregated>` after it"
)]
pub trait Transform<In: Axis> {
    /// What comes out: [`PerExample`](crate::PerExample) or [`Aggregated`](crate::Aggregated).
    type Out: Axis;

    /// Writes the link into the program: takes the gradients that come in, returns those that go out.
    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Self::Out>;

    /// The name of the link in errors, hyper-parameters and state: by default the name of its type in snake case.
    /// `None` for combinators, which have no name of their own.
    fn name(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Owned(snake_case(std::any::type_name::<Self>())))
    }
}

impl<In: Axis, T: Transform<In> + ?Sized> Transform<In> for &T {
    type Out = T::Out;
    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Self::Out> {
        (**self).trace(x, cx)
    }
    fn name(&self) -> Option<Cow<'static, str>> {
        (**self).name()
    }
}

/// A link that may be missing: then the gradients pass unchanged.
impl<In: Axis, T: Transform<In, Out = In>> Transform<In> for Option<T> {
    type Out = In;
    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<In> {
        match self {
            Some(link) => cx.apply(link, x),
            None => x,
        }
    }
    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}

/// `"my_crate::ClipPerExample<f64>"` becomes `"clip_per_example"`.
fn snake_case(path: &str) -> String {
    let path = path.split('<').next().unwrap_or(path);
    let name = path.rsplit("::").next().unwrap_or(path);
    let mut out = String::with_capacity(name.len() + 4);
    for (at, c) in name.char_indices() {
        if c.is_uppercase() && at > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Traces a chain over gradients of any axis into a program: the updates may still have the examples apart.
///
/// # Errors
/// The first hyper-parameter whose value makes no sense, by name.
pub fn program_over<In: Axis, T: Transform<In>>(chain: &T) -> Result<Program, Error> {
    let mut cx = Tracer::new(In::KIND);
    let grads = cx.grads::<In>();
    let updates = cx.apply(chain, grads);
    cx.finish(&updates)
}

/// Traces a chain over per-example gradients into a program.
///
/// # Errors
/// The first hyper-parameter whose value makes no sense, by name.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let program = program(&chain((sign(), mean()))).unwrap();
/// assert_eq!(
///     program.to_string(),
///     "program per-example [B, ..p] -> aggregated [..p]\n\
///      %0 = sign g : [B,P]\n\
///      %1 = mean_B %0 : [P]\n\
///      updates = %1\n"
/// );
/// ```
pub fn program<T: Transform<PerExample>>(chain: &T) -> Result<Program, Error> {
    program_over::<PerExample, T>(chain)
}

/// Traces a chain that ends with one update for each parameter.
///
/// # Errors
/// The first hyper-parameter whose value makes no sense, by name.
pub fn optimizer_program<T>(chain: &T) -> Result<Program, Error>
where
    T: Transform<PerExample>,
    T::Out: Updates,
{
    program(chain)
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn names_are_the_words_of_the_type() {
        assert_eq!(snake_case("a::b::ClipPerExample<f64>"), "clip_per_example");
        assert_eq!(snake_case("Ema"), "ema");
    }
}
