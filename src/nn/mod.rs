//! Layers that can be captured.
//!
//! Each has the fields, the record and the forward pass of the burn layer of the same name, converts from and into it, and
//! outside [`per_example_grads`](crate::per_example_grads) it is that layer. Inside, it records its part of the per-example gradients;
//! the [capture](crate::capture) module tells how.

mod linear;

pub use linear::Linear;
