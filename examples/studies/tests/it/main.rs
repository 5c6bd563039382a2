//! The studies, in small.

mod text;
mod transformer;
