//! The studies, in small.

mod adam_preconditioner;
mod digits;
mod example_norms;
mod gns;
mod interference;
mod published;
mod sign_placement;
mod text;
mod transformer;
