//! Element-wise links: they hold before and after the reduction over examples, `Out = In`.

mod abs;
mod add_scalar;
mod at_least;
mod clip;
mod identity;
mod power;
mod reciprocal;
mod scale;
mod sign;
mod sqrt;
mod square;
mod tanh;
mod zero_nans;

pub use abs::{Abs, abs};
pub use add_scalar::{AddScalar, add_scalar};
pub use at_least::{AtLeast, at_least};
pub use clip::{Clip, clip};
pub use identity::{Identity, identity};
pub use power::{Power, power};
pub use reciprocal::{Reciprocal, reciprocal};
pub use scale::{Scale, scale, scale_by_schedule};
pub use sign::{Sign, scale_by_sign, sign};
pub use sqrt::{Sqrt, sqrt};
pub use square::{Square, square};
pub use tanh::{Tanh, tanh};
pub use zero_nans::{ZeroNans, zero_nans};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    abs::ENTRY,
    add_scalar::ENTRY,
    at_least::ENTRY,
    clip::ENTRY,
    identity::ENTRY,
    power::ENTRY,
    reciprocal::ENTRY,
    scale::ENTRY,
    scale::SCALE_BY_SCHEDULE,
    sign::ENTRY,
    sign::SCALE_BY_SIGN,
    sqrt::ENTRY,
    square::ENTRY,
    tanh::ENTRY,
    zero_nans::ENTRY,
];
