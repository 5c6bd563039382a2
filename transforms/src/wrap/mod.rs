//! Links around links: steps that are skipped or counted in another way, and parameters that are kept beside those of the model.
//!
//! What they have in common is in [`Tracer`](crate::Tracer): [`guarded`](crate::Tracer::guarded) keeps the state of the links inside,
//! [`resetting`](crate::Tracer::resetting) gives it up, [`within`](crate::Tracer::within) shows them some leaves only.
//!
//! At a skipped step the links inside are computed all the same, and so are their metrics: these are what they would have been if
//! the step had been taken, though the state behind them is kept. A [monitor](crate::monitor) that is to see every batch stands
//! before such a link, not inside.
//!
//! Most of them keep state or skip steps, so they stand after the reduction over examples:
//!
//! ```compile_fail,E0277
//! use pergrad_transforms::prelude::*;
//! // The examples of the next micro-batch are other ones.
//! let _ = program(&chain((accumulate(sgd(0.1), 4), mean())));
//! ```
//!
//! ```
//! use pergrad_transforms::prelude::*;
//! let _ = program(&chain((mean(), accumulate(sgd(0.1), 4)))).unwrap();
//! ```

mod accumulate;
mod apply_if_finite;
mod condition;
mod conditionally_mask;
mod conditionally_transform;
mod flatten;
mod freeze;
mod lookahead;
mod mechanize;
mod nearness;
mod reduce_interference;
mod reduce_on_plateau;
mod sam;
mod schedule_free;
mod schedule_free_adamw;
mod schedule_free_sgd;
mod selective_transform;
mod skip_large_updates;
mod skip_not_finite;
mod stateless;

pub use accumulate::{Accumulate, accumulate};
pub use apply_if_finite::{ApplyIfFinite, apply_if_finite};
pub use condition::{Condition, StepCondition, step_ge, step_lt, step_multiple_of};
pub use conditionally_mask::{ConditionallyMask, conditionally_mask};
pub use conditionally_transform::{ConditionallyTransform, conditionally_transform};
pub use flatten::{Flatten, flatten};
pub use freeze::{Freeze, freeze};
pub use lookahead::{Lookahead, lookahead};
pub use mechanize::{Mechanize, mechanize};
pub use nearness::{Euclidean, Nearness, Preconditioned};
pub use reduce_interference::{ReduceInterference, reduce_interference};
pub use reduce_on_plateau::{ReduceOnPlateau, reduce_on_plateau};
pub use sam::{Sam, sam};
pub use schedule_free::{ScheduleFree, schedule_free, schedule_free_eval_params};
pub use schedule_free_adamw::{ScheduleFreeAdamw, schedule_free_adamw};
pub use schedule_free_sgd::{ScheduleFreeSgd, schedule_free_sgd};
pub use selective_transform::{SelectiveTransform, selective_transform};
pub use skip_large_updates::{SkipLargeUpdates, skip_large_updates};
pub use skip_not_finite::{SkipNotFinite, skip_not_finite};
pub use stateless::{Stateless, stateless};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    accumulate::ENTRY,
    apply_if_finite::ENTRY,
    conditionally_mask::ENTRY,
    conditionally_transform::ENTRY,
    flatten::ENTRY,
    freeze::ENTRY,
    lookahead::ENTRY,
    mechanize::ENTRY,
    reduce_interference::ENTRY,
    reduce_on_plateau::ENTRY,
    sam::ENTRY,
    schedule_free::ENTRY,
    schedule_free_adamw::ENTRY,
    schedule_free_sgd::ENTRY,
    selective_transform::ENTRY,
    skip_large_updates::ENTRY,
    skip_not_finite::ENTRY,
];
