//! `cargo run --release -p pergrad-studies --bin example_norms -- --help`

use clap::Parser;
use pergrad_studies::example_norms::{Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    run(&settings)?.publish(&settings.out)?;
    Ok(())
}
