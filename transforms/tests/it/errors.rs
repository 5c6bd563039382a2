//! Every error that this crate can give, with its message.
//!
//! `UnknownHyper`, `LeafDtype` and `Executor` are for executors outside this crate; those of specifications are in
//! [`spec`](crate::spec).

mod hyper_parameters;
mod inputs;
mod selections;
mod states;
mod wrappers;
