//! What the study is asked for.

use std::path::PathBuf;

use serde::Serialize;

use crate::refused::{self, Refused};
use crate::text::TextSettings;
use crate::transformer::TransformerSettings;

/// The gradient noise scale: of all layers and of some, and a batch size that follows it
#[derive(Clone, Debug, clap::Parser, Serialize)]
pub struct Settings {
    /// The examples of a batch while noise scales are watched, at least 2
    #[arg(long, default_value_t = 32)]
    pub batch: usize,
    /// The steps while noise scales are watched
    #[arg(long, default_value_t = 400)]
    pub steps: usize,
    /// The first steps, which no regression uses: the averages have seen too little
    #[arg(long, default_value_t = 50)]
    pub skip: usize,
    /// The decays of the averages of S and of G^2
    #[arg(long, value_delimiter = ',', default_values_t = [0.9, 0.97, 0.99])]
    pub decays: Vec<f64>,
    /// The learning rate of Adam
    #[arg(long, default_value_t = 0.004)]
    pub learning_rate: f64,
    /// The examples of a micro-batch
    #[arg(long, default_value_t = 4)]
    pub micro_batch: usize,
    /// The least number of micro-batches of a step
    #[arg(long, default_value_t = 2)]
    pub least: usize,
    /// The greatest number of micro-batches of a step
    #[arg(long, default_value_t = 15)]
    pub most: usize,
    /// The tokens that each batch-size schedule may train on
    #[arg(long, default_value_t = 120_000)]
    pub budget: u64,
    /// The decay of the noise scale that guides the batch size
    #[arg(long, default_value_t = 0.95)]
    pub guide_decay: f64,
    /// The learning rate grows as the batch size to this power; 0 leaves it alone, 0.5 is the rule of the square root
    #[arg(long, default_value_t = 0.0)]
    pub rate_exponent: f64,
    /// How often the loss on held-out text is taken while batch-size schedules are compared, in tokens
    #[arg(long, default_value_t = 2_000)]
    pub every: u64,
    /// The sequences on which that loss is taken
    #[arg(long, default_value_t = 128)]
    pub validation: usize,
    /// The batches that are drawn of the stochastic quadratic
    #[arg(long, default_value_t = 2_000)]
    pub draws: usize,
    /// The steps of each chain whose time is taken
    #[arg(long, default_value_t = 40)]
    pub timed: usize,
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
            batch: 6,
            steps: 8,
            skip: 2,
            decays: vec![0.5, 0.9],
            learning_rate: 0.01,
            micro_batch: 2,
            least: 1,
            most: 3,
            budget: 120,
            guide_decay: 0.5,
            rate_exponent: 0.5,
            every: 24,
            validation: 4,
            draws: 300,
            timed: 1,
            seed: 1,
            text: TextSettings::tiny(),
            model: TransformerSettings::tiny(),
            out: "target/studies".into(),
        }
    }

    /// Checks what the study itself reads; text, model and schedules check theirs.
    pub(super) fn check(&self) -> Result<(), Refused> {
        refused::at_least("batch", 2, self.batch)?;
        refused::at_least("steps", self.skip + 2, self.steps)?;
        refused::filled("decays", &self.decays)?;
        for &decay in &self.decays {
            refused::decay("decays", decay)?;
        }
        refused::positive("learning-rate", self.learning_rate)?;
        refused::at_least("micro-batch", 1, self.micro_batch)?;
        refused::at_least("least", 1, self.least)?;
        refused::at_least("most", self.least, self.most)?;
        // The monitor sees no noise in one example.
        refused::at_least("least", 2_usize.div_ceil(self.micro_batch), self.least)?;
        refused::at_least(
            "budget",
            1,
            usize::try_from(self.budget).unwrap_or(usize::MAX),
        )?;
        refused::decay("guide-decay", self.guide_decay)?;
        refused::finite("rate-exponent", self.rate_exponent)?;
        refused::at_least(
            "every",
            1,
            usize::try_from(self.every).unwrap_or(usize::MAX),
        )?;
        refused::at_least("validation", 1, self.validation)?;
        refused::at_least("draws", 2, self.draws)?;
        refused::at_least("timed", 1, self.timed)
    }
}
