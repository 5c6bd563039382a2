//! Which second moment Adam shall divide by; see [`pergrad_studies::adam_preconditioner`].

use clap::Parser;
use pergrad_studies::adam_preconditioner::{Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    run(&settings)?.publish(&settings.out)?;
    Ok(())
}
