//! The studies, in small.

mod adam_preconditioner;
mod text;
mod transformer;
