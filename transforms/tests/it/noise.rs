//! Random numbers: what they are in a program, how they are distributed, and the links that add them.

mod distribution;
mod links;
mod streams;

pub(crate) use links::names;
