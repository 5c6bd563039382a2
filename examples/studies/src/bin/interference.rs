//! `cargo run --release -p pergrad-studies --bin interference -- --help`

use clap::Parser;
use pergrad_studies::interference::{Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    run(&settings)?.publish(&settings.out)?;
    Ok(())
}
