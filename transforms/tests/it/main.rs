//! The integration tests of `pergrad-transforms`: one binary, one idea a module.
//!
//! The oracle of a test is another algorithm, most often a plain f64 loop over the examples.

mod axes;
mod batch_size;
mod cases;
mod custom;
mod errors;
mod golden;
mod gram;
mod laws;
mod minimise;
mod model;
mod monitor;
mod noise;
mod noise_scale;
mod options;
mod outliers;
mod papers;
mod placement;
mod privacy;
mod program_data;
mod random;
mod regions;
mod sampler;
mod schedules;
mod spec;
mod texts;
mod tolerance;
