//! The studies, in small.

mod sign_placement;
mod text;
mod transformer;
