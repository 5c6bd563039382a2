//! Whole optimizers, written from public pieces in a few lines each.
//!
//! `sgd`, `adam`, `adamw`, `lion`, `sign_sgd` and `sign_ema` begin with [`batch_mean`](crate::batch_mean): they take
//! per-example gradients, and aggregated ones after a reduction of your own. The `micro_` family needs the examples apart.

mod adam;
mod adamw;
mod lion;
mod micro_adam;
mod micro_sign_sgd;
mod sgd;
mod sign_ema;
mod sign_sgd;

pub use adam::{Adam, adam};
pub use adamw::{Adamw, adamw};
pub use lion::{Lion, lion};
pub use micro_adam::{
    MicroAdam, adam_interpolation, adam_with_second_moment, micro_adam, micro_adam_msq,
    micro_adam_var,
};
pub use micro_sign_sgd::{MicroSignSgd, micro_sign_sgd};
pub use sgd::{Sgd, sgd};
pub use sign_ema::{SignEma, sign_ema, signum};
pub use sign_sgd::{SignSgd, sign_sgd};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    adam::ENTRY,
    adamw::ENTRY,
    lion::ENTRY,
    micro_adam::INTERPOLATION,
    micro_adam::WITH_SECOND_MOMENT,
    micro_adam::ENTRY,
    micro_adam::MSQ,
    micro_adam::VAR,
    micro_sign_sgd::ENTRY,
    sgd::ENTRY,
    sign_ema::ENTRY,
    sign_ema::SIGNUM,
    sign_sgd::ENTRY,
];
