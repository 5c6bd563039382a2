//! What the study is asked for.

use std::path::PathBuf;

use serde::Serialize;

use crate::refused::{self, Refused};
use crate::text::TextSettings;
use crate::transformer::TransformerSettings;

/// Which second moment Adam shall divide by
#[derive(Clone, Debug, clap::Parser, Serialize)]
// Many trainings, so a model that is smaller than that of the other studies.
#[command(mut_arg("layers", |arg| arg.default_value("1")))]
#[command(mut_arg("context", |arg| arg.default_value("8")))]
pub struct Settings {
    /// The batch sizes, each at least 2
    #[arg(long, value_delimiter = ',', default_values_t = [4, 16, 64])]
    pub batch_sizes: Vec<usize>,
    /// The learning rates that are tried, in rising order
    #[arg(long, value_delimiter = ',', default_values_t = [0.0016, 0.004, 0.01, 0.025, 0.06, 0.15])]
    pub learning_rates: Vec<f64>,
    /// The steps of each training
    #[arg(long, default_value_t = 150)]
    pub steps: usize,
    /// The bound on the update where it is clipped, as the root of its mean square, in learning rates
    #[arg(long, default_value_t = 0.2)]
    pub clip: f64,
    /// The number added to the root of the second moment
    #[arg(long, default_value_t = 1e-8)]
    pub eps: f64,
    /// The sequences on which the final loss is taken
    #[arg(long, default_value_t = 256)]
    pub validation: usize,
    /// The batches that are drawn of the stochastic quadratic
    #[arg(long, default_value_t = 200)]
    pub draws: usize,
    /// The seed of the weights, the batches and the quadratic
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The text
    #[command(flatten)]
    pub text: TextSettings,
    /// The model
    #[command(flatten)]
    pub model: TransformerSettings,
    /// The folder to write into
    #[arg(long, default_value = "target/studies")]
    #[serde(skip)]
    pub out: PathBuf,
}

impl Settings {
    /// A setting of seconds, for tests.
    pub fn tiny() -> Self {
        Self {
            batch_sizes: vec![2, 8],
            learning_rates: vec![0.005, 0.02],
            steps: 3,
            clip: 0.2,
            eps: 1e-8,
            validation: 4,
            draws: 40,
            seed: 1,
            text: TextSettings::tiny(),
            model: TransformerSettings::tiny(),
            out: "target/studies".into(),
        }
    }

    /// Checks what the study itself reads; text and model check theirs.
    pub(super) fn check(&self) -> Result<(), Refused> {
        refused::filled("batch-sizes", &self.batch_sizes)?;
        for &examples in &self.batch_sizes {
            refused::at_least("batch-sizes", 2, examples)?;
        }
        refused::filled("learning-rates", &self.learning_rates)?;
        for &rate in &self.learning_rates {
            refused::positive("learning-rates", rate)?;
        }
        refused::at_least("steps", 1, self.steps)?;
        refused::positive("clip", self.clip)?;
        refused::positive("eps", self.eps)?;
        refused::at_least("validation", 1, self.validation)?;
        refused::at_least("draws", 2, self.draws)
    }
}
