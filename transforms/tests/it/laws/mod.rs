//! Laws that hold for every link of the catalogue, and a small value of each that was worked out by hand.

mod chains;
mod data;
mod expansions;
mod noisy;
mod optimizer_values;
mod reductions;
mod samples;
mod shelf;
mod values;
mod whole_catalogue;
mod wrapper_values;
mod wrapping;
