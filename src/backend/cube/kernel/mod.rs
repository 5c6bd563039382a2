//! Kernels on CubeCL devices. A [`Kernel`] is an argument of the compiler: each one becomes a kernel of the device, once.
//!
//! ```text
//! columns    a thread has a vector of columns and runs over the rows; everything but reductions over elements
//! folds      a group of threads has a stretch of one row; reductions over elements
//! ```
//!
//! What a kernel asks for is taken [apart](Kernel::apart) into these two. Results do not depend on how many threads a device has, but for
//! the order in which sums are added up.

mod columns;
mod element;
mod folds;
mod inputs;
mod launch;
mod order;
mod plan;
mod read;
mod rows;
mod spread;

pub(super) use launch::run;
