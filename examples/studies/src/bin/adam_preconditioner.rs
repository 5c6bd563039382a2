//! Which second moment Adam shall divide by; see [`pergrad_studies::adam_preconditioner`].

use clap::Parser;
use pergrad_studies::adam_preconditioner::{Settings, run};
use pergrad_studies::report::conclude;

fn main() -> std::process::ExitCode {
    let settings = Settings::parse();
    conclude(run(&settings), &settings.out)
}
