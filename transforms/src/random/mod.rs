//! Random numbers of a chain: from a [`Seed`] to the numbers of an element.
//!
//! A link asks for [`Tracer::normal`](crate::Tracer::normal), which gives it a [stream](crate::program::Stream) of its own. A number
//! of a stream is a pure function of where it stands:
//!
//! ```text
//! Seed        256 bits, which the user gives or the operating system
//!   | the number of the stream in its program
//! Key         256 bits, in the program
//!   | the number of the leaf
//! ChaCha20    nonce: the steps that the link has taken; position: the element
//!   | Box and Muller, in f64
//! normals     for any range of elements, in any order, on any thread
//! ```
//!
//! So noise never repeats while a chain runs, a step that is skipped uses nothing up, and a chain that is built again with the same seed
//! goes on from a saved state as if it had not stopped. The numbers are made by the host and then rounded to the element type, so
//! they are the same on every device.
//!
//! # What is secret
//! The privacy of differentially private training rests on the key. It is part of the chain and of its [program](crate::Program),
//! and not of the [state](crate::State) that is saved. `Debug` and `Display` do not show it; serde data of a program does.
//!
//! # Limits
//! Normal numbers in floating point are not the real ones: which values can come at all depends on what is added, and an
//! adversary who sees every bit of an update can use that (Mironov, 2012, "On significance of the least significant bits for
//! differential privacy"). The proofs in [`privacy`](crate::privacy) are about real numbers.

mod key;
mod normals;
mod seed;

pub use key::Key;
pub(crate) use normals::uniform;
pub use normals::{fill_normals, normals};
pub use seed::Seed;
