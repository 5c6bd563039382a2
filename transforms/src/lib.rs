//! The algebra of per-example optimizer chains.
//!
//! **An optimizer is a typed chain; a chain is traced once into a small program.** This crate holds the types, the links and
//! the meaning of programs on `ndarray`; it knows no device. The crate `pergrad` runs the same programs on burn.
//!
//! ```
//! use pergrad_transforms::prelude::*;
//!
//! // The order of links is the order of data. A wrong order does not compile.
//! let chain = chain((clip_per_example(1.0), mean(), ema(0.9), sign(), scale_by_learning_rate(1e-3)));
//! println!("{}", optimizer_program(&chain).unwrap());
//! ```
//!
//! # The map of the house
//! | where | what |
//! |--|--|
//! | [`axis`], [`extent`] | the types: where the batch axis is, how far a value reaches |
//! | [`Value`], [`Tracer`], [`Transform`] | how a link is written |
//! | [`elementwise`], [`over_examples`], [`per_example`], [`aggregated`], [`alias`] | the links, a file each |
//! | [`combine`] | `chain`, `then`, `zip`, `ratio`, `masked`, `partition`: links made of links |
//! | [`monitor`] | links that pass the gradients on and say something about them |
//! | [`wrap`] | steps that are skipped, collected or looked back on: links around links |
//! | [`schedule`], [`hyper`] | numbers that have names and may change from step to step |
//! | [`batch_size`] | how many micro-batches make the next step |
//! | [`program`](mod@program) | what a chain becomes: data, text, the language of interpreters |
//! | [`random`] | noise: from a seed to the numbers of an element |
//! | [`tree`], [`leaves`] | the parameters of a model, and selections of them |
//! | [`mod@reference`] | the meaning of a program on `ndarray` |
//! | [`privacy`] | what noise on clipped sums is worth: accountants, and batches by chance |
//! | [`runner`], [`state`] | running on plain numbers; what is saved and restored |
//! | [`spec`] | chains from data at run time, and every legal place of a link |
//! | [`placement`](mod@placement) | where a sign is best placed, predicted from single gradients |
//! | [`sampler`], [`outliers`] | which examples to train on next, and which to look at |
//! | [`update_trace`] | update rules as text, for snapshot tests |

pub mod aggregated;
pub mod alias;
pub mod axis;
pub mod batch_size;
pub mod combine;
pub mod elementwise;
mod error;
pub mod extent;
pub mod hyper;
pub mod leaves;
pub mod monitor;
pub mod outliers;
pub mod over_examples;
pub mod per_example;
pub mod placement;
pub mod privacy;
pub mod program;
pub mod random;
pub mod reference;
mod regions;
pub mod runner;
pub mod sampler;
pub mod schedule;
pub mod spec;
pub mod state;
mod tracer;
mod transform;
pub mod tree;
pub mod update_trace;
mod value;
pub mod wrap;

pub use aggregated::*;
pub use alias::*;
pub use axis::{Aggregated, Axis, AxisKind, PerExample};
pub use batch_size::BatchSizeSchedule;
pub use combine::*;
pub use elementwise::*;
pub use error::Error;
pub use extent::{Extent, ExtentKind, Global, Leaf, LeafPairs, Pairs, PerLeaf};
pub use hyper::{Domain, Hyper};
pub use leaves::Leaves;
pub use over_examples::*;
pub use per_example::*;
pub use program::{Axes, Program};
pub use random::Seed;
pub use state::State;
pub use tracer::{StateSlot, Tracer};
pub use transform::{Transform, optimizer_program, program, program_over};
pub use tree::{Dtype, LeafInfo, ParamTree};
pub use value::{Operand, Predicate, Value};
pub use wrap::*;

/// Everything for writing chains and links.
pub mod prelude {
    pub use crate::aggregated::{
        DogInit, LionMode, PolyakVariant, adaptive_grad_clip, add_decayed_weights,
        add_gaussian_noise, add_noise, apply_every, bias_correction, centralize, clip_by_block_rms,
        clip_by_global_norm, ema, keep_params_nonnegative, normalize, normalize_by_update_norm,
        running_max, running_sum, scale_by_acprop, scale_by_adadelta, scale_by_adam,
        scale_by_adamax, scale_by_adan, scale_by_ademamix, scale_by_adopt, scale_by_amsgrad,
        scale_by_belief, scale_by_cocob, scale_by_distance_over_gradients, scale_by_dog,
        scale_by_dowg, scale_by_factored_rms, scale_by_learning_rate, scale_by_lion,
        scale_by_madgrad, scale_by_muon, scale_by_novograd, scale_by_optimistic_gradient,
        scale_by_param_block_norm, scale_by_param_block_rms, scale_by_polyak, scale_by_radam,
        scale_by_rms, scale_by_rprop, scale_by_rss, scale_by_simplified_ademamix, scale_by_sm3,
        scale_by_stddev, scale_by_trust_ratio, scale_by_yogi, set_to_zero, trace,
    };
    pub use crate::alias::{
        acprop, adabelief, adadelta, adafactor, adagrad, adagrad_with_second_moment, adam,
        adam_interpolation, adam_with_second_moment, adamax, adamaxw, adamw, adan, ademamix, adopt,
        amsgrad, amsgrad_with_second_moment, cocob, dadapt_adamw, dog, dowg, dpsgd, fromage, lamb,
        lars, lion, madgrad, micro_adam, micro_adam_msq, micro_adam_var, micro_sign_sgd, momo,
        momo_adam, muon, nadam, nadamw, noisy_sgd, novograd, optimistic_adam_v2,
        optimistic_gradient_descent, polyak_sgd, prodigy, radam, rmsprop,
        rmsprop_with_second_moment, rprop, sgd, sign_ema, sign_sgd, signum, simplified_ademamix,
        sm3, sophia_with_curvature, yogi,
    };
    pub use crate::axis::{Aggregated, Axis, PerExample};
    pub use crate::batch_size::{BatchSizeSchedule, gns_guided, linear_in_tokens};
    pub use crate::combine::{Compose, chain, masked, partition, ratio, zip};
    pub use crate::elementwise::{
        abs, add_scalar, at_least, clip, identity, power, reciprocal, scale, scale_by_schedule,
        scale_by_sign, sign, sqrt, square, tanh, zero_nans,
    };
    pub use crate::hyper::{Domain, Hyper};
    pub use crate::leaves::Leaves;
    pub use crate::monitor;
    pub use crate::over_examples::{
        batch_mean, differentially_private_adaptive_aggregate, differentially_private_aggregate,
        geometric_median, least_harm, majority, max, mean, median, min, project_conflicts, sum,
        trimmed_mean, unbiased_square_of_mean, upgrad, variance,
    };
    pub use crate::per_example::{
        clip_per_example, coordinate_statistics, normalize_per_example, scale_by_past_rms,
        scale_per_example,
    };
    pub use crate::program::Axes;
    pub use crate::random::Seed;
    pub use crate::schedule::{
        Interpolation, constant_schedule, cosine_decay_schedule, cosine_onecycle_schedule,
        exponential_decay, join_schedules, linear_onecycle_schedule, linear_schedule,
        piecewise_constant_schedule, piecewise_interpolate_schedule, polynomial_schedule,
        sgdr_schedule, warmup_constant_schedule, warmup_cosine_decay_schedule,
        warmup_exponential_decay_schedule,
    };
    pub use crate::tracer::Tracer;
    pub use crate::transform::{Transform, optimizer_program, program, program_over};
    pub use crate::value::Value;
    pub use crate::wrap::{
        accumulate, apply_if_finite, conditionally_mask, conditionally_transform, flatten, freeze,
        lookahead, mechanize, reduce_interference, reduce_on_plateau, sam, schedule_free,
        schedule_free_adamw, schedule_free_sgd, selective_transform, skip_large_updates,
        skip_not_finite, stateless, step_ge, step_lt, step_multiple_of,
    };
}

/// The code of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
