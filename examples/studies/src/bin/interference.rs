//! `cargo run --release -p pergrad-studies --bin interference -- --help`

use clap::Parser;
use pergrad_studies::interference::{Settings, run};
use pergrad_studies::report::conclude;

fn main() -> std::process::ExitCode {
    let settings = Settings::parse();
    conclude(run(&settings), &settings.out)
}
