//! Whole optimizers, written from public pieces in a few lines each.
//!
//! Most begin with [`batch_mean`](crate::batch_mean): they take per-example gradients, and aggregated ones after a reduction of
//! your own. The `micro_` family, `adam_with_second_moment` and `adam_interpolation` need the examples apart. To move the mean, the
//! square or the sign of an optimizer, write its expansion, which its page gives, and move them there.
//!
//! Those that read the loss of the step ([`polyak_sgd`], [`momo`], [`momo_adam`]) read the extra `loss`.

mod acprop;
mod adabelief;
mod adadelta;
mod adafactor;
mod adagrad;
mod adagrad_with_second_moment;
mod adam;
mod adamax;
mod adamaxw;
mod adamw;
mod adan;
mod ademamix;
mod adopt;
mod amsgrad;
mod amsgrad_with_second_moment;
mod cocob;
mod dadapt_adamw;
mod dog;
mod dowg;
mod dpsgd;
mod fromage;
mod lamb;
mod lars;
mod lion;
mod madgrad;
mod micro_adam;
mod micro_sign_sgd;
mod momo;
mod momo_adam;
mod muon;
mod noisy_sgd;
mod novograd;
mod optimistic_adam_v2;
mod optimistic_gradient_descent;
mod polyak_sgd;
mod prodigy;
mod radam;
mod rmsprop;
mod rmsprop_with_second_moment;
mod rprop;
mod sgd;
mod sign_ema;
mod sign_sgd;
mod simplified_ademamix;
mod sm3;
mod sophia_with_curvature;
mod yogi;

pub use acprop::{Acprop, acprop};
pub use adabelief::{Adabelief, adabelief};
pub use adadelta::{Adadelta, adadelta};
pub use adafactor::{Adafactor, adafactor};
pub use adagrad::{Adagrad, adagrad};
pub use adagrad_with_second_moment::{AdagradWithSecondMoment, adagrad_with_second_moment};
pub use adam::{Adam, adam, nadam};
pub use adamax::{Adamax, adamax};
pub use adamaxw::{Adamaxw, adamaxw};
pub use adamw::{Adamw, adamw, nadamw};
pub use adan::{Adan, adan};
pub use ademamix::{Ademamix, ademamix};
pub use adopt::{Adopt, adopt};
pub use amsgrad::{Amsgrad, amsgrad};
pub use amsgrad_with_second_moment::{AmsgradWithSecondMoment, amsgrad_with_second_moment};
pub use cocob::{Cocob, cocob};
pub use dadapt_adamw::{DadaptAdamw, dadapt_adamw};
pub use dog::{Dog, dog};
pub use dowg::{Dowg, dowg};
pub use dpsgd::{Dpsgd, dpsgd};
pub use fromage::{Fromage, fromage};
pub use lamb::{Lamb, lamb};
pub use lars::{Lars, lars};
pub use lion::{Lion, lion};
pub use madgrad::{Madgrad, madgrad};
pub use micro_adam::{
    MicroAdam, Preconditioner, adam_interpolation, adam_with_second_moment, micro_adam,
    micro_adam_msq, micro_adam_var,
};
pub use micro_sign_sgd::{MicroSignSgd, micro_sign_sgd};
pub use momo::{Momo, momo};
pub use momo_adam::{MomoAdam, momo_adam};
pub use muon::{Muon, muon};
pub use noisy_sgd::{NoisySgd, noisy_sgd};
pub use novograd::{Novograd, novograd};
pub use optimistic_adam_v2::{OptimisticAdamV2, optimistic_adam_v2};
pub use optimistic_gradient_descent::{OptimisticGradientDescent, optimistic_gradient_descent};
pub use polyak_sgd::{PolyakSgd, polyak_sgd};
pub use prodigy::{Prodigy, prodigy};
pub use radam::{Radam, radam};
pub use rmsprop::{Rmsprop, rmsprop};
pub use rmsprop_with_second_moment::{RmspropWithSecondMoment, rmsprop_with_second_moment};
pub use rprop::{Rprop, rprop};
pub use sgd::{Sgd, sgd};
pub use sign_ema::{SignEma, sign_ema, signum};
pub use sign_sgd::{SignSgd, sign_sgd};
pub use simplified_ademamix::{SimplifiedAdemamix, simplified_ademamix};
pub use sm3::{Sm3, sm3};
pub use sophia_with_curvature::{SophiaWithCurvature, sophia_with_curvature};
pub use yogi::{Yogi, yogi};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    acprop::ENTRY,
    adabelief::ENTRY,
    adadelta::ENTRY,
    adafactor::ENTRY,
    adagrad::ENTRY,
    adagrad_with_second_moment::ENTRY,
    adam::ENTRY,
    adam::NADAM,
    adamax::ENTRY,
    adamaxw::ENTRY,
    adamw::ENTRY,
    adamw::NADAMW,
    adan::ENTRY,
    ademamix::ENTRY,
    adopt::ENTRY,
    amsgrad::ENTRY,
    amsgrad_with_second_moment::ENTRY,
    cocob::ENTRY,
    dadapt_adamw::ENTRY,
    dog::ENTRY,
    dowg::ENTRY,
    dpsgd::ENTRY,
    fromage::ENTRY,
    lamb::ENTRY,
    lars::ENTRY,
    lion::ENTRY,
    madgrad::ENTRY,
    micro_adam::INTERPOLATION,
    micro_adam::WITH_SECOND_MOMENT,
    micro_adam::ENTRY,
    micro_adam::MSQ,
    micro_adam::VAR,
    micro_sign_sgd::ENTRY,
    momo::ENTRY,
    momo_adam::ENTRY,
    muon::ENTRY,
    noisy_sgd::ENTRY,
    novograd::ENTRY,
    optimistic_adam_v2::ENTRY,
    optimistic_gradient_descent::ENTRY,
    polyak_sgd::ENTRY,
    prodigy::ENTRY,
    radam::ENTRY,
    rmsprop::ENTRY,
    rmsprop_with_second_moment::ENTRY,
    rprop::ENTRY,
    sgd::ENTRY,
    sign_ema::ENTRY,
    sign_ema::SIGNUM,
    sign_sgd::ENTRY,
    simplified_ademamix::ENTRY,
    sm3::ENTRY,
    sophia_with_curvature::ENTRY,
    yogi::ENTRY,
];
