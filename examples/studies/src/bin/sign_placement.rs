//! Where a sign is best placed; see [`pergrad_studies::sign_placement`].

use clap::Parser;
use pergrad_studies::sign_placement::{Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    run(&settings)?.publish(&settings.out)?;
    Ok(())
}
