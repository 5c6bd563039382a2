//! Links over aggregated gradients: state in the shape of the parameters, norms over the model, weight decay.

mod add_decayed_weights;
mod clip_by_global_norm;
mod ema;
mod scale_by_adam;
mod scale_by_learning_rate;
mod scale_by_lion;
mod trace;

pub use add_decayed_weights::{AddDecayedWeights, add_decayed_weights};
pub use clip_by_global_norm::{ClipByGlobalNorm, clip_by_global_norm};
pub use ema::{Ema, ema};
pub use scale_by_adam::{ScaleByAdam, scale_by_adam};
pub use scale_by_learning_rate::{ScaleByLearningRate, scale_by_learning_rate};
pub use scale_by_lion::{ScaleByLion, scale_by_lion};
pub use trace::{Trace, trace};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    add_decayed_weights::ENTRY,
    clip_by_global_norm::ENTRY,
    ema::ENTRY,
    scale_by_adam::ENTRY,
    scale_by_learning_rate::ENTRY,
    scale_by_lion::ENTRY,
    trace::ENTRY,
];
