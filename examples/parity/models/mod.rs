//! Models: outputs, losses and per-example gradients, against those of JAX.
//!
//! A case is read into a [`Model`](case::Model), built from `pergrad::nn` with the leaves under the names of the file, and checked
//! twice: captured all at once, and one example after the other. The captured gradients are compared in full and, through
//! optimizers, in the factored forms that they are held in.

mod activation;
mod attention;
mod case;
mod check;
mod conv_net;
mod embedding_bag;
mod loss;
mod mlp;
mod norm;
mod params;
mod place;
mod reused;
mod tied;
mod transformer;

pub(crate) use case::outcome;
