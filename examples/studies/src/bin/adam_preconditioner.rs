//! Which second moment Adam shall divide by; see [`pergrad_studies::adam_preconditioner`].

use std::process::ExitCode;

use clap::Parser;
use pergrad_studies::adam_preconditioner::{Settings, run};

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
