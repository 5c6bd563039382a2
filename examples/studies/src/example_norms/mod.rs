//! What the norm of each example's gradient is good for (Goodfellow, arXiv 1510.01799).
//!
//! The paper shows how to take the norms of all examples within one backward pass, and names two uses: to find unusual examples, and
//! to draw examples of large gradients more often. The study tries both on small digits.
//!
//! 1. Some labels are made wrong. After some epochs the images are ranked by their norms, and by their losses; how many of the first
//!    are the wrong ones?
//! 2. A gradient is estimated from examples that are drawn all alike, or by their norms with weights that keep its mean. With exact
//!    norms its variance is never larger ([`NormSampler`](pergrad::transforms::sampler::NormSampler) says why), and it is computed
//!    exactly here. Whether training is faster is another question, since the norms change while one trains.

mod mosaic;
pub mod ranking;
mod sampling;
mod timing;
mod variance;
mod watch;

use std::path::PathBuf;

use burn::tensor::Device;
use indicatif::ProgressBar;
use serde::Serialize;

pub use variance::{informed, variance};

use crate::classifier::{Classifier, mean, standard_error};
use crate::cnn::Cnn;
use crate::digits::{Digits, DigitsSettings};
use crate::mlp::Mlp;
use crate::picture::{Picture, Scale};
use crate::progress;
use crate::random::Random;
use crate::refused::{at_least_one, positive, within};
use crate::report::Report;
use crate::table::Table;
use ranking::Ranking;
use sampling::{Course, Curve, Drawing};
use watch::{Checkpoint, Training};

/// Per-example gradient norms in one backward pass: wrong labels found, and examples drawn by norm (arXiv 1510.01799).
#[derive(Clone, Debug, clap::Parser, Serialize)]
pub struct Settings {
    /// The images.
    #[command(flatten)]
    pub digits: DigitsSettings,
    /// The network
    #[arg(long, value_enum, default_value = "cnn")]
    pub model: Model,
    /// How wide it is: the channels of the first convolution, and an eighth of the hidden units
    #[arg(long, default_value_t = 8)]
    pub width: usize,
    /// The share of the training labels that are made wrong
    #[arg(long, default_value_t = 0.05)]
    pub corrupted: f64,
    /// After which epochs the norms are taken, rising
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 2, 4, 8, 16, 32])]
    pub epochs: Vec<usize>,
    /// The examples of a batch
    #[arg(long, default_value_t = 50)]
    pub batch: usize,
    /// The learning rate of Adam while the norms are watched
    #[arg(long, default_value_t = 2e-3)]
    pub learning_rate: f64,
    /// The learning rate of plain gradient descent with drawn examples
    #[arg(long, default_value_t = 0.03)]
    pub sampling_rate: f64,
    /// The examples of a drawn batch
    #[arg(long, default_value_t = 20)]
    pub sampling_batch: usize,
    /// For how many epochs examples are drawn
    #[arg(long, default_value_t = 30)]
    pub sampling_epochs: usize,
    /// The share of the probability that all examples have alike
    #[arg(long, default_value_t = 0.1)]
    pub mix: f64,
    /// How many batches are drawn to measure a variance
    #[arg(long, default_value_t = 100)]
    pub draws: usize,
    /// How many seeds are trained with drawn examples
    #[arg(long, default_value_t = 5)]
    pub seeds: usize,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How often each time is taken
    #[arg(long, default_value_t = 31)]
    pub repetitions: usize,
    /// The folder for the numbers and pictures
    #[arg(long, default_value = "target/studies")]
    #[serde(skip)]
    pub out: PathBuf,
}

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
pub enum Model {
    /// Two convolutions and two linear layers.
    Cnn,
    /// Two linear layers.
    Mlp,
}

impl Settings {
    /// A few hundred steps, for tests.
    pub fn tiny() -> Self {
        Self {
            digits: DigitsSettings::of(120),
            model: Model::Mlp,
            width: 2,
            corrupted: 0.1,
            epochs: vec![0, 2, 4],
            batch: 20,
            learning_rate: 1e-2,
            sampling_rate: 0.1,
            sampling_batch: 20,
            sampling_epochs: 2,
            mix: 0.1,
            draws: 5,
            seeds: 2,
            seed: 1,
            repetitions: 2,
            out: "target/studies".into(),
        }
    }

    fn check(&self) -> Result<(), Box<dyn std::error::Error>> {
        at_least_one([
            ("width", self.width),
            ("batch", self.batch),
            ("sampling-batch", self.sampling_batch),
            ("sampling-epochs", self.sampling_epochs),
            ("draws", self.draws),
            ("seeds", self.seeds),
            ("repetitions", self.repetitions),
            ("epochs", self.epochs.len()),
        ])?;
        positive("learning-rate", self.learning_rate)?;
        positive("sampling-rate", self.sampling_rate)?;
        let share = self.corrupted;
        within(
            "corrupted",
            "from 0 to below 1",
            share,
            (0.0..1.0).contains(&share),
        )?;
        let mix = self.mix;
        within("mix", "above 0 and at most 1", mix, mix > 0.0 && mix <= 1.0)?;
        if !self.epochs.is_sorted() {
            return Err("`--epochs` must rise, as in 0,1,4,16".into());
        }
        Ok(())
    }
}

/// Runs the study.
///
/// # Errors
/// Settings that make no study, each with what would do, and a file that holds no images.
pub fn run(settings: &Settings) -> Result<Report, Box<dyn std::error::Error>> {
    settings.check()?;
    match settings.model {
        Model::Cnn => run_with::<Cnn>(settings),
        Model::Mlp => run_with::<Mlp>(settings),
    }
}

fn run_with<C: Classifier>(settings: &Settings) -> Result<Report, Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let (clean, test) = Digits::load(&settings.digits)?;
    let mut given = clean.clone();
    let corrupted = given.corrupt(settings.corrupted, &mut Random::new(settings.seed));
    let model = C::new(&given, settings.width, settings.seed, &device);
    let last = settings.epochs.last().copied().unwrap_or(0);
    let drawn = 2 * settings.seeds * Drawing::ALL.len() * settings.sampling_epochs;
    let bar = progress::bar(last + 1 + settings.epochs.len() + drawn);

    let training = Training {
        learning_rate: settings.learning_rate,
        batch: settings.batch,
        seed: settings.seed,
    };
    bar.set_message("norms");
    let data = (&given, &test);
    let seen = training.watch(model, data, &settings.epochs, &device, &bar)?;
    let best = most_telling(&seen, &corrupted);
    let mut report = Report::new("example_norms", settings);
    report.tables = vec![
        watch::found(&seen, &corrupted),
        watch::outlying(&seen, &corrupted),
        watch::largest(best, &given, clean.labels()),
    ];
    report.pictures.push(watch::sorted(best, &corrupted));
    let title = format!(
        "The largest gradient norms after epoch {} (wrong labels in red)",
        best.epoch
    );
    let images = mosaic::draw(&title, &best.norms, &given, clean.labels());
    report.drawings.push(("largest", images));

    bar.set_message("variance");
    report
        .tables
        .push(variances(settings, &seen, &given, &device, &bar)?);
    bar.set_message("drawn batches");
    let sets = [("right labels", &clean), ("some wrong", &given)];
    for (name, train) in sets {
        let (table, picture) = trained::<C>(settings, name, (train, &test), &device, &bar)?;
        report.tables.push(table);
        report.pictures.push(picture);
    }
    let repetitions = (settings.batch, settings.repetitions);
    let times = timing::table(&best.model, &given, repetitions, &device)?;
    report.tables.push(times);
    bar.finish_and_clear();
    report.findings = findings(best, &corrupted);
    Ok(report)
}

/// The checkpoint whose norms rank the wrong labels best: the one to look at.
fn most_telling<'a, C>(seen: &'a [Checkpoint<C>], corrupted: &[bool]) -> &'a Checkpoint<C> {
    let score = |point: &Checkpoint<C>| {
        let precision = Ranking::new(&point.norms, corrupted).average_precision();
        if precision.is_nan() { 0.0 } else { precision }
    };
    let best = seen.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
    best.expect("there are epochs")
}

/// The variance of an estimate at each checkpoint, per example of a batch.
fn variances<C: Classifier>(
    settings: &Settings,
    seen: &[Checkpoint<C>],
    digits: &Digits,
    device: &Device,
    bar: &ProgressBar,
) -> Result<Table, Box<dyn std::error::Error>> {
    let mut table = Table::new(
        "variance of the gradient of one drawn example, summed over parameters",
        &[
            "epoch",
            "alike",
            "by norm",
            "ratio",
            "by old norms",
            "alike, measured",
            "by norm, measured",
        ],
    );
    let mut old = &seen[0].norms;
    for point in seen {
        let full = variance::full_gradient(&point.model, digits, device)?;
        let sq_norm: f64 = full.iter().map(|x| x * x).sum();
        let exact = |norms: &[f64], mix| -> Result<f64, pergrad::transforms::Error> {
            let sampler = informed(norms, mix)?;
            Ok(variance(&point.norms, &sampler.probabilities(), sq_norm))
        };
        let (alike, by_norm) = (
            exact(&point.norms, 1.0)?,
            exact(&point.norms, settings.mix)?,
        );
        let by_old = exact(old, settings.mix)?;
        let measure = |mix| -> Result<f64, Box<dyn std::error::Error>> {
            let sampler = informed(&point.norms, mix)?;
            let (batch, draws) = (settings.sampling_batch, settings.draws);
            variance::measured(
                &point.model,
                digits,
                (&sampler, batch),
                (&full, draws),
                device,
            )
        };
        table.row([
            point.epoch.into(),
            alike.into(),
            by_norm.into(),
            (by_norm / alike).into(),
            by_old.into(),
            measure(1.0)?.into(),
            measure(settings.mix)?.into(),
        ]);
        old = &point.norms;
        bar.inc(1);
    }
    Ok(table)
}

/// Each way to draw, for all seeds.
fn trained<C: Classifier>(
    settings: &Settings,
    name: &str,
    data: (&Digits, &Digits),
    device: &Device,
    bar: &ProgressBar,
) -> Result<(Table, Picture), Box<dyn std::error::Error>> {
    let course = Course {
        learning_rate: settings.sampling_rate,
        batch: settings.sampling_batch,
        epochs: settings.sampling_epochs,
        mix: settings.mix,
    };
    let mut table = Table::new(
        format!(
            "drawn batches, {name}: after {} epochs, {} seeds",
            course.epochs, settings.seeds
        ),
        &[
            "drawn",
            "train loss",
            "its std. error",
            "half-way loss",
            "test acc.",
            "its std. error",
        ],
    );
    let slug = name.replace(' ', "_");
    let mut picture = Picture::new(
        format!("drawn_{slug}"),
        format!("loss of drawn batches, {name}"),
        Scale::linear("epoch"),
        Scale::log("mean loss of the training images"),
    );
    for drawing in Drawing::ALL {
        let seeds = settings.seed..settings.seed + settings.seeds as u64;
        let curves = seeds.map(|seed| {
            let model = C::new(data.0, settings.width, seed, device);
            course.run(drawing, model, data, (seed, device), bar)
        });
        let curves: Vec<Curve> = curves.collect::<Result<_, _>>()?;
        let at = |epoch: usize| -> Vec<f64> { curves.iter().map(|c| c.losses[epoch]).collect() };
        let accuracies: Vec<f64> = curves.iter().map(|c| c.accuracy).collect();
        let last = at(course.epochs);
        table.row([
            drawing.name().into(),
            mean(&last).into(),
            standard_error(&last).into(),
            mean(&at(course.epochs / 2)).into(),
            mean(&accuracies).into(),
            standard_error(&accuracies).into(),
        ]);
        #[allow(clippy::cast_precision_loss)] // epochs
        let points = (0..=course.epochs).map(|epoch| (epoch as f64, mean(&at(epoch))));
        picture.line(drawing.name(), points.collect());
    }
    Ok((table, picture))
}

fn findings<C>(best: &Checkpoint<C>, corrupted: &[bool]) -> Vec<String> {
    let norms = Ranking::new(&best.norms, corrupted);
    let losses = Ranking::new(&best.losses, corrupted);
    vec![
        format!(
            "the norms rank the wrong labels best after epoch {}: average precision {:.3}, by loss {:.3}",
            best.epoch,
            norms.average_precision(),
            losses.average_precision(),
        ),
        "the variance of drawn examples is no larger by exact norms than all alike: that is a theorem".to_owned(),
    ]
}
