//! What must hold for every batch: the monitor against norms, against a loop in f64, and for a batch that comes in parts.
//!
//! With a decay of 0 the monitor gives the estimates of one batch. Of these, `G2 + S` is the mean squared norm of the examples (`spegn` of
//! Gray et al.) and `G2 + S/B` the squared norm of their mean (`sgn`).

use std::collections::BTreeMap;

use burn::tensor::Device;
use pergrad::prelude::*;
use pergrad::{Optimizer, PerExampleGrads, per_example_grads, per_example_norms};

use super::Settings;
use super::watch::Watch;
use crate::random::Random;
use crate::table::Table;
use crate::text::Text;
use crate::transformer::Transformer;

/// What several ways say of one batch.
#[derive(Clone, Debug)]
pub struct Identities {
    /// The mean squared norm of the examples: by the monitor, by `per_example_norms`, by the loop.
    pub spegn: [f64; 3],
    /// The squared norm of the mean: by the monitor, by the loop.
    pub sgn: [f64; 2],
    /// The metrics of every group, for the batch as a whole and in parts of different sizes.
    pub parts: Vec<(String, [f64; 2])>,
}

impl Identities {
    /// The largest relative difference between the batch as a whole and in parts, over all groups; of estimates, that is G^2 and S.
    pub fn largest_difference(&self) -> f64 {
        let estimates = self.parts.iter().filter(|(n, _)| !n.ends_with("scale"));
        let differences = estimates.map(|(_, [x, y])| (x - y).abs() / x.abs().max(y.abs()));
        differences.fold(0.0, f64::max)
    }
}

/// Asks all of them, at the first weights.
///
/// # Errors
/// A text or a model that is refused, and what the optimizer says.
#[allow(clippy::cast_precision_loss)] // batch sizes
pub fn ask(settings: &Settings) -> Result<Identities, Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let text = Text::load(&settings.text)?;
    let model = Transformer::new(&settings.model, text.vocabulary(), settings.seed, &device)?;
    let mut random = Random::new(settings.seed);
    let batch = text.batch(settings.batch, settings.model.context, &mut random, &device)?;
    let grads = |of: std::ops::Range<usize>| {
        per_example_grads(&model, |m| m.losses(batch.clone().slice([of])))
    };
    let (_, norms) = per_example_norms(&model, |m| m.losses(batch.clone()), <_>::default())?;
    let squares = norms.into_data().iter::<f64>().map(|n| n * n).sum::<f64>();
    let count = settings.batch as f64;

    let chain = || chain((Watch::all(&[0.0]), sgd(settings.learning_rate)));
    let (_, all) = grads(0..settings.batch)?;
    let (spegn, sgn) = by_loop(&all);
    let mut whole = Optimizer::new(chain())?;
    whole.step(model.clone(), all)?;
    let whole = whole.metrics()?;

    let mut apart = Optimizer::new(chain())?;
    // Parts of one third and two thirds.
    let cut = settings.batch.div_ceil(3);
    let mut parts = apart.accumulate(&model, grads(0..cut)?.1)?;
    parts.merge(apart.accumulate(&model, grads(cut..settings.batch)?.1)?)?;
    apart.step_accumulated(model.clone(), parts)?;
    let apart = apart.metrics()?;

    let [g2, s] = ["all_0.g2", "all_0.s"].map(|name| number(&whole, name));
    let pairs = whole.keys().map(|name| {
        let pair = [number(&whole, name), number(&apart, name)];
        (name.clone(), pair)
    });
    Ok(Identities {
        spegn: [g2 + s, squares / count, spegn],
        sgn: [g2 + s / count, sgn],
        parts: pairs.collect(),
    })
}

/// A metric that is one number; NaN where there is none.
pub(super) fn number(metrics: &BTreeMap<String, Vec<f64>>, name: &str) -> f64 {
    let value = metrics.get(name).and_then(|values| values.first());
    value.copied().unwrap_or(f64::NAN)
}

/// The mean squared norm of the examples and the squared norm of their mean, in f64, one number after the other.
#[allow(clippy::cast_precision_loss)] // batch sizes
fn by_loop(grads: &PerExampleGrads) -> (f64, f64) {
    let count = grads.examples() as f64;
    let (mut spegn, mut sgn) = (0.0, 0.0);
    for path in grads.paths() {
        let form = grads.form(path).expect("a path of these gradients");
        let rows = form.clone().into_dense().into_data();
        let numbers: Vec<f64> = rows.iter::<f64>().collect();
        let width = numbers.len() / grads.examples();
        let mut sums = vec![0.0; width];
        for row in numbers.chunks(width) {
            for (sum, g) in sums.iter_mut().zip(row) {
                *sum += g;
                spegn += g * g / count;
            }
        }
        sgn += sums.iter().map(|g| (g / count).powi(2)).sum::<f64>();
    }
    (spegn, sgn)
}

/// The numbers beside each other.
pub(super) fn table(found: &Identities) -> Table {
    let mut table = Table::new(
        "One batch at the first weights: spegn = G2 + S, sgn = G2 + S/B",
        &[
            "quantity",
            "monitor",
            "per_example_norms",
            "loop in f64",
            "relative difference",
        ],
    );
    let [monitor, norms, looped] = found.spegn;
    let off = |x: f64, y: f64| (x - y).abs() / y;
    table.row([
        "spegn, mean of squared norms".into(),
        monitor.into(),
        norms.into(),
        looped.into(),
        off(monitor, looped).max(off(norms, looped)).into(),
    ]);
    let [monitor, looped] = found.sgn;
    table.row([
        "sgn, squared norm of the mean".into(),
        monitor.into(),
        "".into(),
        looped.into(),
        off(monitor, looped).into(),
    ]);
    table
}
