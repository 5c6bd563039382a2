//! Batch sizes that are fixed, grow, or follow the noise scale, at equal tokens.

use burn::tensor::Device;
use indicatif::ProgressBar;
use pergrad::prelude::*;
use pergrad::{Accumulated, Optimizer, per_example_grads};

use super::Settings;
use super::identities::number;
use super::watch::Watch;
use crate::picture::{Picture, Scale};
use crate::random::Random;
use crate::table::{Entry, Table};
use crate::text::Text;
use crate::transformer::Transformer;

/// What came of one schedule.
#[derive(Clone, Debug)]
pub struct Run {
    /// The schedule.
    pub name: &'static str,
    /// The loss on held-out text.
    pub losses: Vec<Held>,
    /// The examples of each step.
    pub batches: Vec<usize>,
}

/// The loss on held-out text when so much had been done.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The tokens seen.
    pub tokens: u64,
    /// The steps taken.
    pub steps: usize,
    /// The loss.
    pub loss: f64,
}

/// The schedules.
fn schedules(
    settings: &Settings,
) -> Result<[(&'static str, BatchSizeSchedule); 4], pergrad::transforms::Error> {
    let &Settings {
        least,
        most,
        budget,
        ..
    } = settings;
    #[allow(clippy::cast_precision_loss)] // sizes of batches
    let guided = gns_guided(least, most, settings.micro_batch as f64)?;
    Ok([
        ("fixed, small", linear_in_tokens(least, least, 0)?.into()),
        ("fixed, large", linear_in_tokens(most, most, 0)?.into()),
        (
            "linear in tokens",
            linear_in_tokens(least, most, budget)?.into(),
        ),
        ("guided by the noise scale", guided.into()),
    ])
}

/// Trains with every schedule, from the same weights and with the same stream of micro-batches.
///
/// # Errors
/// A text, a model or a schedule that is refused, and what the optimizer says.
pub fn run(settings: &Settings, bar: &ProgressBar) -> Result<Vec<Run>, Box<dyn std::error::Error>> {
    let mut runs = Vec::new();
    for (name, schedule) in schedules(settings)? {
        bar.set_message(format!("batch size {name}"));
        runs.push(train(settings, name, schedule, bar)?);
    }
    Ok(runs)
}

#[allow(clippy::cast_precision_loss)] // counts of a study
fn train(
    settings: &Settings,
    name: &'static str,
    mut schedule: BatchSizeSchedule,
    bar: &ProgressBar,
) -> Result<Run, Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let text = Text::load(&settings.text)?;
    let context = settings.model.context;
    let held_out = text.validation(settings.validation, context, &device)?;
    let mut model = Transformer::new(&settings.model, text.vocabulary(), settings.seed, &device)?;
    let mut random = Random::new(settings.seed);
    let watch = Watch::one("all", settings.guide_decay);
    let mut optimizer = Optimizer::new(chain((watch, adam(settings.learning_rate))))?;
    let loss =
        |model: &Transformer| f64::from(model.losses(held_out.clone()).mean().into_scalar::<f32>());
    let mut tokens = 0;
    let mut run = Run {
        name,
        losses: vec![Held {
            tokens,
            steps: 0,
            loss: loss(&model),
        }],
        batches: Vec::new(),
    };
    while tokens < settings.budget {
        let count = schedule.micro_batches(tokens);
        let share = count as f64 / settings.least as f64;
        let rate = settings.learning_rate * share.powf(settings.rate_exponent);
        optimizer.set_hyper("learning_rate", rate)?;
        let mut whole: Option<Accumulated> = None;
        for _ in 0..count {
            let batch = text.batch(settings.micro_batch, context, &mut random, &device)?;
            let (_, grads) = per_example_grads(&model, |m| m.losses(batch))?;
            let part = optimizer.accumulate(&model, grads)?;
            match &mut whole {
                None => whole = Some(part),
                Some(whole) => whole.merge(part)?,
            }
            bar.inc(1);
        }
        let whole = whole.expect("a schedule asks for one micro-batch at least");
        let examples = whole.examples();
        model = optimizer.step_accumulated(model, whole)?;
        schedule.observe(number(&optimizer.metrics()?, "all_0.scale"));
        run.batches.push(examples);
        let before = tokens / settings.every;
        tokens += (examples * context) as u64;
        if tokens / settings.every > before || tokens >= settings.budget {
            run.losses.push(Held {
                tokens,
                steps: run.batches.len(),
                loss: loss(&model),
            });
        }
    }
    Ok(run)
}

/// So many micro-batches all schedules take at most, for a bar.
pub(super) fn micro_batches(settings: &Settings) -> usize {
    let each = (settings.micro_batch * settings.model.context).max(1);
    let budget = usize::try_from(settings.budget).unwrap_or(usize::MAX);
    4 * (budget / each)
}

impl Run {
    /// When a loss was reached for the first time.
    pub fn reaches(&self, target: f64) -> Option<Held> {
        self.losses.iter().copied().find(|held| held.loss <= target)
    }

    fn best(&self) -> f64 {
        let losses = self.losses.iter().map(|held| held.loss);
        losses.fold(f64::INFINITY, f64::min)
    }
}

/// Tokens and steps to the loss that all have reached.
#[allow(clippy::cast_precision_loss)] // counts of a study
pub(super) fn table(settings: &Settings, runs: &[Run]) -> Table {
    let target = runs.iter().map(Run::best).fold(f64::NEG_INFINITY, f64::max);
    let title = format!(
        "Batch-size schedules over {} tokens; the loss that all have reached is {target:.3}",
        settings.budget
    );
    let columns = [
        "batch size",
        "first B",
        "mean B",
        "last B",
        "steps",
        "last loss",
        "tokens to the loss",
        "steps to the loss",
    ];
    let mut table = Table::new(title, &columns);
    for run in runs {
        let reached = run.reaches(target);
        let missing = || Entry::from("not reached");
        let steps = run.batches.len();
        let examples: usize = run.batches.iter().sum();
        table.row([
            run.name.into(),
            run.batches.first().copied().unwrap_or(0).into(),
            (examples as f64 / steps as f64).into(),
            run.batches.last().copied().unwrap_or(0).into(),
            steps.into(),
            run.losses.last().map_or(f64::NAN, |held| held.loss).into(),
            reached.map_or_else(missing, |held| (held.tokens as f64).into()),
            reached.map_or_else(missing, |held| held.steps.into()),
        ]);
    }
    table
}

/// The loss over the tokens.
#[allow(clippy::cast_precision_loss)] // counts of a study
pub(super) fn over_tokens(runs: &[Run]) -> Picture {
    let mut picture = Picture::new(
        "batch_size",
        "Loss over tokens, by batch-size schedule",
        Scale::linear("tokens"),
        Scale::linear("loss on held-out text (nats)"),
    );
    for run in runs {
        let points = run
            .losses
            .iter()
            .map(|held| (held.tokens as f64, held.loss));
        picture.line(run.name, points.collect());
    }
    picture
}
