//! What the monitors cost: time for each step, and passes over the leaves.

use std::time::Instant;

use burn::tensor::Device;
use indicatif::ProgressBar;
use pergrad::prelude::*;
use pergrad::{Optimizer, per_example_grads};

use super::Settings;
use super::watch::Watch;
use crate::random::Random;
use crate::table::Table;
use crate::text::Text;
use crate::transformer::Transformer;

/// What one chain cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// What was watched.
    pub watched: &'static str,
    /// The passes of a step.
    pub passes: usize,
    /// The median time of a step, with capture, in milliseconds.
    pub milliseconds: f64,
    /// The median of its time over that of the step without monitors in the same round: a busy machine slows both.
    pub ratio: f64,
}

/// Steps Adam with different monitors before it, in turn, so that all see the same moods of the machine.
///
/// # Errors
/// A text or a model that is refused, and what the optimizer says.
pub fn measure(
    settings: &Settings,
    bar: &ProgressBar,
) -> Result<Vec<Cost>, Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let text = Text::load(&settings.text)?;
    let model = Transformer::new(&settings.model, text.vocabulary(), settings.seed, &device)?;
    let decay = settings.decays[0];
    let watched: [(&str, Option<Watch>); 4] = [
        ("nothing", None),
        ("normalization layers", Some(Watch::one("norm", decay))),
        ("all layers", Some(Watch::one("all", decay))),
        (
            "every type, every decay",
            Some(Watch::all(&settings.decays)),
        ),
    ];
    let chains = watched.into_iter().map(|(name, watch)| {
        let optimizer = Optimizer::new(chain((watch, adam(settings.learning_rate))))?;
        Ok((name, optimizer, model.clone(), Vec::new()))
    });
    let mut chains = chains.collect::<Result<Vec<_>, pergrad::Error>>()?;
    let mut random = Random::new(settings.seed);
    bar.set_message("time");
    // One more round, which warms up and does not count.
    for round in 0..=settings.timed {
        let batch = text.batch(settings.batch, settings.model.context, &mut random, &device)?;
        for (_, optimizer, model, times) in &mut chains {
            let start = Instant::now();
            let (_, grads) = per_example_grads(&*model, |m| m.losses(batch.clone()))?;
            *model = optimizer.step(model.clone(), grads)?;
            // The loss of the new model would wait for the step too, but it is a forward pass; the metrics are read instead.
            optimizer.metrics()?;
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            bar.inc(1);
        }
    }
    let alone = chains[0].3.clone();
    let costs = chains.into_iter().map(|(watched, optimizer, _, times)| {
        let ratios = times.iter().zip(&alone).map(|(time, alone)| time / alone);
        Cost {
            watched,
            passes: optimizer.passes(),
            ratio: median(ratios.collect()),
            milliseconds: median(times),
        }
    });
    Ok(costs.collect())
}

/// The upper one of two in the middle.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// The costs beside that of no monitor.
pub(super) fn table(costs: &[Cost]) -> Table {
    let mut table = Table::new(
        "What the monitors cost (times are of this machine and do not repeat)",
        &["watched", "passes", "ms for each step", "ratio"],
    );
    for cost in costs {
        table.row([
            cost.watched.into(),
            cost.passes.into(),
            cost.milliseconds.into(),
            cost.ratio.into(),
        ]);
    }
    table
}
