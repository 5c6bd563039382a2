//! Chains from data, at run time.
//!
//! A [`ChainSpec`] is serde data: `[{"link": "sign"}, {"link": "mean"}, {"link": "ema", "decay": 0.9}]`. A [`Catalogue`] builds
//! from it a checked [`DynChain`], with the same rules as the types have at compile time, as typed errors. [`placements`]
//! lists every legal position of a link in a chain, which is how a hypothesis about placement is tested in a loop.
//!
//! Every link registers itself by the `ENTRY` in its own file; [`Catalogue::with`] adds links from outside the crate.

mod arguments;
mod catalogue;
mod chain_spec;
mod dyn_chain;
mod link;
mod link_arguments;
mod placements;

pub use arguments::{Argument, Arguments};
pub use catalogue::{Catalogue, Entry, Family};
pub use chain_spec::{ArgumentValue, ChainSpec, LinkSpec};
pub use dyn_chain::{DynChain, DynLinks, DynStatistic};
pub use link::Link;
pub(crate) use link_arguments::{KEEPING, ORDERED};
pub use placements::{Placement, placements};
