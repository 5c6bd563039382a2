//! The studies, in small.

mod sign_placement;
mod digits;
mod example_norms;
mod interference;
mod published;
mod text;
mod transformer;
