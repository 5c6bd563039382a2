//! The gradient noise scale, of all layers and of some; see [`pergrad_studies::gns`].

use clap::Parser;
use pergrad_studies::gns::{Settings, run};
use pergrad_studies::report::conclude;

fn main() -> std::process::ExitCode {
    let settings = Settings::parse();
    conclude(run(&settings), &settings.out)
}
