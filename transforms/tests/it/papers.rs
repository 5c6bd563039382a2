//! What is known of the papers that the crate implements, as far as no layer is needed.

mod avranas;
mod goodfellow;
mod gray;
mod roulet_agarwala;
mod schedule_free;
pub(crate) mod sign_snr;
