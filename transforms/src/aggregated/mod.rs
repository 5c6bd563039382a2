//! Links over aggregated gradients: state in the shape of the parameters, norms over the model, weight decay.

mod adaptive_grad_clip;
mod add_decayed_weights;
mod add_gaussian_noise;
mod add_noise;
mod apply_every;
mod bias_correction;
mod centralize;
mod clip_by_block_rms;
mod clip_by_global_norm;
mod ema;
mod keep_params_nonnegative;
pub(crate) mod moments;
mod normalize;
mod normalize_by_update_norm;
mod running_max;
mod running_sum;
mod scale_by_acprop;
mod scale_by_adadelta;
mod scale_by_adam;
mod scale_by_adamax;
mod scale_by_adan;
mod scale_by_ademamix;
mod scale_by_adopt;
mod scale_by_amsgrad;
mod scale_by_belief;
mod scale_by_cocob;
mod scale_by_distance_over_gradients;
mod scale_by_dog;
mod scale_by_dowg;
mod scale_by_factored_rms;
mod scale_by_learning_rate;
mod scale_by_lion;
mod scale_by_madgrad;
mod scale_by_muon;
mod scale_by_novograd;
mod scale_by_optimistic_gradient;
mod scale_by_param_block_norm;
mod scale_by_param_block_rms;
mod scale_by_polyak;
mod scale_by_radam;
mod scale_by_rms;
mod scale_by_rprop;
mod scale_by_rss;
mod scale_by_simplified_ademamix;
mod scale_by_sm3;
mod scale_by_stddev;
mod scale_by_trust_ratio;
mod scale_by_yogi;
mod set_to_zero;
mod trace;

pub use adaptive_grad_clip::{AdaptiveGradClip, adaptive_grad_clip};
pub use add_decayed_weights::{AddDecayedWeights, add_decayed_weights};
pub use add_gaussian_noise::{AddGaussianNoise, add_gaussian_noise};
pub use add_noise::{AddNoise, add_noise};
pub use apply_every::{ApplyEvery, apply_every};
pub use bias_correction::{BiasCorrection, bias_correction};
pub use centralize::{Centralize, centralize};
pub use clip_by_block_rms::{ClipByBlockRms, clip_by_block_rms};
pub use clip_by_global_norm::{ClipByGlobalNorm, clip_by_global_norm};
pub use ema::{Ema, ema};
pub use keep_params_nonnegative::{KeepParamsNonnegative, keep_params_nonnegative};
pub use normalize::{Normalize, normalize};
pub use normalize_by_update_norm::{NormalizeByUpdateNorm, normalize_by_update_norm};
pub use running_max::{RunningMax, running_max};
pub use running_sum::{RunningSum, running_sum};
pub use scale_by_acprop::{ScaleByAcprop, scale_by_acprop};
pub use scale_by_adadelta::{ScaleByAdadelta, scale_by_adadelta};
pub use scale_by_adam::{ScaleByAdam, scale_by_adam};
pub use scale_by_adamax::{ScaleByAdamax, scale_by_adamax};
pub use scale_by_adan::{ScaleByAdan, scale_by_adan};
pub use scale_by_ademamix::{ScaleByAdemamix, scale_by_ademamix};
pub use scale_by_adopt::{ScaleByAdopt, scale_by_adopt};
pub use scale_by_amsgrad::{ScaleByAmsgrad, scale_by_amsgrad};
pub use scale_by_belief::{ScaleByBelief, scale_by_belief};
pub use scale_by_cocob::{ScaleByCocob, scale_by_cocob};
pub use scale_by_distance_over_gradients::{
    ScaleByDistanceOverGradients, scale_by_distance_over_gradients,
};
pub use scale_by_dog::{DogInit, ScaleByDog, scale_by_dog};
pub use scale_by_dowg::{ScaleByDowg, scale_by_dowg};
pub use scale_by_factored_rms::{ScaleByFactoredRms, scale_by_factored_rms};
pub use scale_by_learning_rate::{ScaleByLearningRate, scale_by_learning_rate};
pub use scale_by_lion::{LionMode, ScaleByLion, scale_by_lion};
pub use scale_by_madgrad::{ScaleByMadgrad, scale_by_madgrad};
pub use scale_by_muon::{ScaleByMuon, scale_by_muon};
pub use scale_by_novograd::{ScaleByNovograd, scale_by_novograd};
pub use scale_by_optimistic_gradient::{ScaleByOptimisticGradient, scale_by_optimistic_gradient};
pub use scale_by_param_block_norm::{ScaleByParamBlockNorm, scale_by_param_block_norm};
pub use scale_by_param_block_rms::{ScaleByParamBlockRms, scale_by_param_block_rms};
pub use scale_by_polyak::{PolyakVariant, ScaleByPolyak, scale_by_polyak};
pub use scale_by_radam::{ScaleByRadam, scale_by_radam};
pub use scale_by_rms::{ScaleByRms, scale_by_rms};
pub use scale_by_rprop::{ScaleByRprop, scale_by_rprop};
pub use scale_by_rss::{ScaleByRss, scale_by_rss};
pub use scale_by_simplified_ademamix::{ScaleBySimplifiedAdemamix, scale_by_simplified_ademamix};
pub use scale_by_sm3::{ScaleBySm3, scale_by_sm3};
pub use scale_by_stddev::{ScaleByStddev, scale_by_stddev};
pub use scale_by_trust_ratio::{ScaleByTrustRatio, scale_by_trust_ratio};
pub use scale_by_yogi::{ScaleByYogi, scale_by_yogi};
pub use set_to_zero::{SetToZero, set_to_zero};
pub use trace::{Trace, trace};

use crate::spec::Entry;

pub(crate) const ENTRIES: &[Entry] = &[
    adaptive_grad_clip::ENTRY,
    add_decayed_weights::ENTRY,
    add_gaussian_noise::ENTRY,
    add_noise::ENTRY,
    apply_every::ENTRY,
    bias_correction::ENTRY,
    centralize::ENTRY,
    clip_by_block_rms::ENTRY,
    clip_by_global_norm::ENTRY,
    ema::ENTRY,
    keep_params_nonnegative::ENTRY,
    normalize::ENTRY,
    normalize_by_update_norm::ENTRY,
    running_max::ENTRY,
    running_sum::ENTRY,
    scale_by_acprop::ENTRY,
    scale_by_adadelta::ENTRY,
    scale_by_adam::ENTRY,
    scale_by_adamax::ENTRY,
    scale_by_adan::ENTRY,
    scale_by_ademamix::ENTRY,
    scale_by_adopt::ENTRY,
    scale_by_amsgrad::ENTRY,
    scale_by_belief::ENTRY,
    scale_by_cocob::ENTRY,
    scale_by_distance_over_gradients::ENTRY,
    scale_by_dog::ENTRY,
    scale_by_dowg::ENTRY,
    scale_by_factored_rms::ENTRY,
    scale_by_learning_rate::ENTRY,
    scale_by_lion::ENTRY,
    scale_by_madgrad::ENTRY,
    scale_by_muon::ENTRY,
    scale_by_novograd::ENTRY,
    scale_by_optimistic_gradient::ENTRY,
    scale_by_param_block_norm::ENTRY,
    scale_by_param_block_rms::ENTRY,
    scale_by_polyak::ENTRY,
    scale_by_radam::ENTRY,
    scale_by_rms::ENTRY,
    scale_by_rprop::ENTRY,
    scale_by_rss::ENTRY,
    scale_by_simplified_ademamix::ENTRY,
    scale_by_sm3::ENTRY,
    scale_by_stddev::ENTRY,
    scale_by_trust_ratio::ENTRY,
    scale_by_yogi::ENTRY,
    set_to_zero::ENTRY,
    trace::ENTRY,
];
