//! pergrad's optimizers inside burn-train's loop, in both ways, on the 8x8 digits.
//!
//! ```text
//! cargo run --release -p pergrad-training
//! ```
//!
//! - [`leafwise`]: a chain that stays inside a parameter goes where one of burn's optimizers goes. Nothing else changes.
//! - [`whole`]: a chain with values across leaves, here over per-example gradients, steps the whole model in the model's own
//!   [`optimize`](burn::train::TrainStep::optimize).
//!
//! ```
//! use burn::tensor::Device;
//! let dir = std::env::temp_dir().join("pergrad_training_doc");
//! let digits = pergrad_training::digits::Digits::some(200);
//! let accuracy = pergrad_training::leafwise::train(&digits, 1, &Device::default().autodiff(), &dir);
//! assert!(accuracy > 0.0);
//! ```

pub mod digits;
pub mod leafwise;
pub mod whole;
