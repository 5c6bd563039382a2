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
//! | [`wrap`] | steps that are skipped, collected or looked back on: links around links |
//! | [`schedule`], [`hyper`] | numbers that have names and may change from step to step |
//! | [`program`](mod@program) | what a chain becomes: data, text, the language of interpreters |
//! | [`tree`], [`leaves`] | the parameters of a model, and selections of them |
//! | [`mod@reference`] | the meaning of a program on `ndarray` |
//! | [`runner`], [`state`] | running on plain numbers; what is saved and restored |
//! | [`spec`] | chains from data at run time, and every legal place of a link |
//! | [`update_trace`] | update rules as text, for snapshot tests |

pub mod aggregated;
pub mod alias;
pub mod axis;
pub mod combine;
pub mod elementwise;
mod error;
pub mod extent;
pub mod hyper;
pub mod leaves;
pub mod over_examples;
pub mod per_example;
pub mod program;
pub mod reference;
mod regions;
pub mod runner;
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
pub use combine::*;
pub use elementwise::*;
pub use error::Error;
pub use extent::{Extent, ExtentKind, Global, Leaf, LeafPairs, Pairs, PerLeaf};
pub use hyper::{Domain, Hyper};
pub use leaves::Leaves;
pub use over_examples::*;
pub use per_example::*;
pub use program::Program;
pub use state::State;
pub use tracer::{StateSlot, Tracer};
pub use transform::{Transform, optimizer_program, program, program_over};
pub use tree::{Dtype, LeafInfo, ParamTree};
pub use value::{Operand, Predicate, Value};
pub use wrap::*;

/// Everything for writing chains and links.
pub mod prelude {
    pub use crate::aggregated::{
        add_decayed_weights, clip_by_global_norm, ema, scale_by_adam, scale_by_learning_rate,
        scale_by_lion, trace,
    };
    pub use crate::alias::{
        adam, adam_interpolation, adam_with_second_moment, adamw, lion, micro_adam, micro_adam_msq,
        micro_adam_var, micro_sign_sgd, sgd, sign_ema, sign_sgd, signum,
    };
    pub use crate::axis::{Aggregated, Axis, PerExample};
    pub use crate::combine::{Compose, chain, masked, partition, ratio, zip};
    pub use crate::elementwise::{
        abs, add_scalar, at_least, clip, identity, power, reciprocal, scale, sign, sqrt, square,
        tanh, zero_nans,
    };
    pub use crate::hyper::{Domain, Hyper};
    pub use crate::leaves::Leaves;
    pub use crate::over_examples::{
        batch_mean, geometric_median, least_harm, majority, max, mean, median, min,
        project_conflicts, sum, trimmed_mean, unbiased_square_of_mean, upgrad, variance,
    };
    pub use crate::per_example::{
        clip_per_example, normalize_per_example, scale_by_past_rms, scale_per_example,
    };
    pub use crate::schedule::{
        constant_schedule, cosine_decay_schedule, linear_schedule, warmup_cosine_decay_schedule,
    };
    pub use crate::tracer::Tracer;
    pub use crate::transform::{Transform, optimizer_program, program, program_over};
    pub use crate::value::Value;
    pub use crate::wrap::{
        accumulate, apply_every, apply_if_finite, conditionally_mask, conditionally_transform,
        flatten, freeze, lookahead, mechanize, reduce_on_plateau, sam, schedule_free,
        schedule_free_adamw, schedule_free_sgd, selective_transform, set_to_zero,
        skip_large_updates, skip_not_finite, stateless, step_ge, step_lt, step_multiple_of,
    };
}

/// The code of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
