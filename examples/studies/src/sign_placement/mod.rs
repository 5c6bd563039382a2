//! Where a sign is best placed: `sign, mean, ema`, or `mean, sign, ema`, or `mean, ema, sign`.
//!
//! Roulet and Agarwala, 2025, arXiv 2510.00236, find the sign as late as possible the best, and explain it by the signal-to-noise ratio
//! of the update. The study has two parts:
//!
//! - [`known_noise`]: gradients whose signal and noise are known. The real chains run on them, and the ratio of what comes out is
//!   measured beside the closed forms of [`pergrad::transforms::placement`].
//! - a small transformer on text. The ratio of each coordinate is measured, the ratios of the updates are predicted from it
//!   ([`predicted`]) and, with the weights at rest, measured ([`measured`]); then each chain is trained over a grid of learning rates
//!   ([`sweep`]).

pub mod known_noise;
pub mod measured;
mod pages;
pub mod predicted;
pub mod sweep;

use std::error::Error;
use std::path::PathBuf;

use pergrad::transforms::placement::{PlacementSnr, SignPlacement};
use serde::Serialize;

use crate::report::Report;
use crate::text::{Text, TextSettings};
use crate::transformer::{Transformer, TransformerSettings};
use crate::{progress, random::Random};
use known_noise::NoiseSettings;

/// What the study is asked for.
#[derive(Clone, Debug, clap::Parser, Serialize)]
#[command(about = "Where a sign is best placed: predicted, measured and trained")]
pub struct Settings {
    /// The part with known noise.
    #[command(flatten)]
    pub noise: NoiseSettings,
    /// The text.
    #[command(flatten)]
    pub text: TextSettings,
    /// The transformer.
    #[command(flatten)]
    pub model: TransformerSettings,
    /// Sequences in a batch
    #[arg(long, default_value_t = 32)]
    pub batch: usize,
    /// The decay of the moving average
    #[arg(long, default_value_t = 0.9)]
    pub beta: f64,
    /// Steps of each training
    #[arg(long, default_value_t = 400)]
    pub steps: usize,
    /// How many learning rates are tried, each twice the last
    #[arg(long, default_value_t = 7)]
    pub rates: usize,
    /// The least learning rate of the chains with a sign
    #[arg(long, default_value_t = 1e-3)]
    pub least_rate: f64,
    /// The course of the learning rate
    #[arg(long, value_enum, default_value_t = Course::Cosine)]
    pub schedule: Course,
    /// By how much the learning rates of the chain without a sign are larger
    #[arg(long, default_value_t = 100.0)]
    pub no_sign_factor: f64,
    /// How often the best learning rate is trained again, each time with other batches
    #[arg(long, default_value_t = 3)]
    pub repeats: usize,
    /// From how many sequences the statistics of coordinates are taken
    #[arg(long, default_value_t = 4096)]
    pub measured: usize,
    /// Steps with the weights at rest, to measure the ratio of whole updates
    #[arg(long, default_value_t = 300)]
    pub at_rest: usize,
    /// The seed of weights and batches
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where tables and pictures go
    #[arg(long, default_value = "target/studies")]
    pub out: PathBuf,
}

/// How a learning rate goes on from its first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Course {
    /// Half a wave of the cosine, down to 0 at the last step.
    Cosine,
    /// It stays.
    Constant,
}

impl Settings {
    /// Seconds, for tests.
    pub fn tiny() -> Self {
        Self {
            noise: NoiseSettings::tiny(),
            text: TextSettings::tiny(),
            model: TransformerSettings::tiny(),
            batch: 4,
            beta: 0.9,
            steps: 8,
            rates: 2,
            least_rate: 1e-3,
            schedule: Course::Cosine,
            no_sign_factor: 100.0,
            repeats: 2,
            measured: 64,
            at_rest: 8,
            seed: 1,
            out: "target/studies".into(),
        }
    }

    /// The learning rates for a place.
    pub fn rates(&self, place: SignPlacement) -> Vec<f64> {
        let factor = match place {
            SignPlacement::NoSign => self.no_sign_factor,
            _ => 1.0,
        };
        let steps = (0..self.rates).map(|step| 2_f64.powf(number(step)));
        steps.map(|step| self.least_rate * factor * step).collect()
    }

    fn check(&self) -> Result<(), String> {
        let counts = [
            ("--batch", self.batch, 1),
            ("--steps", self.steps, 1),
            ("--rates", self.rates, 1),
            ("--repeats", self.repeats, 1),
            ("--measured", self.measured, 2),
            ("--at-rest", self.at_rest, 2),
        ];
        for (name, got, least) in counts {
            if got < least {
                return Err(format!("{name} must be at least {least}, not {got}"));
            }
        }
        for (name, got) in [
            ("--least-rate", self.least_rate),
            ("--no-sign-factor", self.no_sign_factor),
        ] {
            if !(got.is_finite() && got > 0.0) {
                return Err(format!("{name} must be finite and above 0, not {got}"));
            }
        }
        if !(0.0..1.0).contains(&self.beta) {
            let beta = self.beta;
            return Err(format!("--beta must be at least 0 and below 1, not {beta}"));
        }
        Ok(())
    }

    /// The generator of the batches of a purpose.
    fn random(&self, purpose: u64) -> Random {
        Random::new(self.seed.wrapping_mul(1_000_003).wrapping_add(purpose))
    }
}

/// The places in the order of the pages, the earliest sign first.
pub const PLACES: [SignPlacement; 4] = [
    SignPlacement::MicroSign,
    SignPlacement::Sign,
    SignPlacement::SignEma,
    SignPlacement::NoSign,
];

/// What the paper calls a place, or what we take it to.
pub fn name(place: SignPlacement) -> &'static str {
    match place {
        SignPlacement::MicroSign => "MicroSignSGD",
        SignPlacement::Sign => "SignSGD",
        SignPlacement::SignEma => "SignEMA",
        SignPlacement::NoSign => "no sign",
    }
}

/// The ratio of a place.
pub fn ratio(snr: &PlacementSnr, place: SignPlacement) -> f64 {
    match place {
        SignPlacement::MicroSign => snr.micro_sign,
        SignPlacement::Sign => snr.sign,
        SignPlacement::SignEma => snr.sign_ema,
        SignPlacement::NoSign => snr.no_sign,
    }
}

#[allow(clippy::cast_precision_loss)] // counts of a study
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}

/// Runs both parts.
///
/// # Errors
/// Settings that make no sense, a text that cannot be read or is too short.
pub fn run(settings: &Settings) -> Result<Report, Box<dyn Error>> {
    settings.check()?;
    settings.noise.check()?;
    let text = Text::load(&settings.text)?;
    text.check(settings.model.context)?;
    let device = burn::tensor::Device::default().autodiff();
    let model = Transformer::new(&settings.model, text.vocabulary(), settings.seed, &device)?;
    let mut report = Report::new("sign_placement", settings);

    let bar = progress::bar(settings.noise.work() + sweep::work(settings));
    bar.set_message("known noise");
    let ratios = known_noise::measure(&settings.noise, settings.seed, &bar)?;
    pages::known_noise(&mut report, &settings.noise, &ratios);

    let at = Place {
        settings,
        text: &text,
        bar: &bar,
    };
    let trained = sweep::train_all(&at, &model)?;
    bar.set_message("coordinates");
    let course = predicted::course(&at, &model, trained.best_rate(SignPlacement::SignEma))?;
    bar.set_message("weights at rest");
    let at_rest = measured::at_rest(&at, &model)?;
    bar.finish_and_clear();

    pages::course(&mut report, settings, &course);
    pages::at_rest(&mut report, settings, &course, &at_rest);
    pages::sweep(&mut report, settings, &text, &trained);
    pages::order(&mut report, &course, &at_rest, &trained);
    Ok(report)
}

/// Where the parts of the study on text take place.
pub struct Place<'a> {
    /// What is asked for.
    pub settings: &'a Settings,
    /// The text.
    pub text: &'a Text,
    /// What has been done.
    pub bar: &'a indicatif::ProgressBar,
}
