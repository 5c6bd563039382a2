//! Cases that hurt users of other libraries, by their number in the project's list, with the tracker they come from.

mod batch_axis;
mod definitions;
mod guards;
mod optax;
mod privacy;
mod zeros_and_nans;
