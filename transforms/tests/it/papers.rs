//! What is known of the four papers that the crate implements, as far as no layer is needed.

mod goodfellow;
mod gray;
mod roulet_agarwala;
mod sign_snr;
