//! The gradient noise scale, of all layers and of some; see [`pergrad_studies::gns`].

use clap::Parser;
use pergrad_studies::gns::{Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    run(&settings)?.publish(&settings.out)?;
    Ok(())
}
