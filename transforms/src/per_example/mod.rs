//! Links that treat each example on its own: they need the batch axis and keep it.

mod clip_per_example;
mod coordinate_statistics;
mod normalize_per_example;
mod scale_by_past_rms;
mod scale_per_example;

pub use clip_per_example::{ClipPerExample, clip_per_example};
pub use coordinate_statistics::{CoordinateStatistics, coordinate_statistics};
pub use normalize_per_example::{NormalizePerExample, normalize_per_example};
pub use scale_by_past_rms::{ScaleByPastRms, scale_by_past_rms};
pub use scale_per_example::{ScalePerExample, scale_per_example};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    clip_per_example::ENTRY,
    coordinate_statistics::ENTRY,
    normalize_per_example::ENTRY,
    scale_by_past_rms::ENTRY,
    scale_per_example::ENTRY,
];
