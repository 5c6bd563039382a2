//! Golden values of optax, in f64, through the reference.

mod case;
mod translate;
mod wrappers;
