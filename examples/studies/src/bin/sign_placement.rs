//! Where a sign is best placed; see [`pergrad_studies::sign_placement`].

use clap::Parser;
use pergrad_studies::report::conclude;
use pergrad_studies::sign_placement::{Settings, run};

fn main() -> std::process::ExitCode {
    let settings = Settings::parse();
    conclude(run(&settings), &settings.out)
}
