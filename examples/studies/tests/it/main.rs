//! The studies, in small.

mod sign_placement;
mod digits;
mod example_norms;
mod interference;
mod published;
mod adam_preconditioner;
mod gns;
mod text;
mod transformer;
