//! The gradient noise scale, of all layers and of some; see [`pergrad_studies::gns`].

use std::process::ExitCode;

use clap::Parser;
use pergrad_studies::gns::{Settings, run};

fn main() -> ExitCode {
    let settings = Settings::parse();
    match run(&settings).and_then(|report| report.publish(&settings.out)) {
        Ok(_) => ExitCode::SUCCESS,
        // As a sentence: an error that `main` returns is printed as its fields.
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
