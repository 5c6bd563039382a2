//! The values that optax itself computed: every case of the golden files that is one of ours, in f64 and within the tolerance of
//! the case; the others by name, with the reason.

mod convert;
mod extras;
mod file;
mod schedules;
mod transformations;

pub(crate) use transformations::names;
