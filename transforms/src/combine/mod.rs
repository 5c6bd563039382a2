//! Combinators: links made of links.

mod chain;
mod masked;
mod named;
mod partition;
mod ratio;
mod then;
mod zip;

pub use chain::{Chain, chain};
pub use masked::{Masked, masked};
pub use named::Named;
pub use partition::{Partition, partition};
pub use ratio::{Ratio, ratio};
pub use then::{Compose, Then};
pub use zip::{Zip, ZipMap, zip};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[masked::ENTRY, partition::ENTRY];
