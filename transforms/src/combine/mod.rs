//! Combinators: links made of links.

mod chain;
mod named;
mod ratio;
mod then;
mod zip;

pub use chain::{Chain, chain};
pub use named::Named;
pub use ratio::{Ratio, ratio};
pub use then::{Compose, Then};
pub use zip::{Zip, ZipMap, zip};
