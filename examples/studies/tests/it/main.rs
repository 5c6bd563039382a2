//! The studies, in small.

mod adam_preconditioner;
mod gns;
mod text;
mod transformer;
