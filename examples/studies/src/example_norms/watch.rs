//! A network trained on labels of which some are wrong, and what the norms say on the way.

use burn::tensor::Device;
use indicatif::ProgressBar;
use pergrad::Optimizer;
use pergrad::prelude::adam;
use pergrad::transforms::outliers::outliers;

use super::ranking::Ranking;
use crate::classifier::{Classifier, mean};
use crate::digits::{Digits, permutation};
use crate::picture::{Picture, Scale};
use crate::random::Random;
use crate::table::Table;

/// How many robust standard deviations above the median make an outlier.
const OUTLIER: f64 = 3.5;

/// What is known of each image after some epochs.
pub(super) struct Checkpoint<C> {
    pub(super) epoch: usize,
    pub(super) model: C,
    pub(super) losses: Vec<f64>,
    pub(super) norms: Vec<f64>,
    pub(super) accuracy: f64,
}

/// How a network is trained.
pub(super) struct Training {
    pub(super) learning_rate: f64,
    pub(super) batch: usize,
    pub(super) seed: u64,
}

impl Training {
    /// Trains by Adam and looks at all images after each of these epochs, which rise.
    pub(super) fn watch<C: Classifier>(
        &self,
        mut model: C,
        (train, test): (&Digits, &Digits),
        epochs: &[usize],
        device: &Device,
        bar: &ProgressBar,
    ) -> Result<Vec<Checkpoint<C>>, Box<dyn std::error::Error>> {
        let mut optimizer = Optimizer::new(adam(self.learning_rate))?;
        let mut random = Random::new(self.seed);
        let mut seen = Vec::new();
        for epoch in 0..=epochs.last().copied().unwrap_or(0) {
            if epochs.contains(&epoch) {
                let (losses, norms) = model.all_norms(train, device)?;
                seen.push(Checkpoint {
                    epoch,
                    model: model.clone(),
                    losses,
                    norms,
                    accuracy: model.accuracy(test, device),
                });
            }
            for rows in permutation(train.len(), &mut random).chunks(self.batch) {
                let batch = train.batch(rows, device);
                (_, model) = optimizer.step_on(model, |m| m.losses(batch))?;
            }
            bar.inc(1);
        }
        Ok(seen)
    }
}

/// Where the wrong labels stand in the order of the norms and in that of the losses.
pub(super) fn found<C>(seen: &[Checkpoint<C>], corrupted: &[bool]) -> Table {
    let count = corrupted.iter().filter(|c| **c).count();
    #[allow(clippy::cast_precision_loss)] // counts of images
    let share = count as f64 / corrupted.len() as f64;
    let mut table = Table::new(
        format!("wrong labels found, {count} of {}", corrupted.len()),
        &[
            "ranked by",
            "epoch",
            "test acc.",
            "median",
            "precision@10",
            "precision@k",
            "recall@2k",
            "avg. precision",
        ],
    );
    for point in seen {
        for (name, scores) in [("norm", &point.norms), ("loss", &point.losses)] {
            let ranking = Ranking::new(scores, corrupted);
            table.row([
                name.into(),
                point.epoch.into(),
                point.accuracy.into(),
                median(scores.clone()).into(),
                ranking.precision(10).into(),
                ranking.precision(count).into(),
                ranking.recall(2 * count).into(),
                ranking.average_precision().into(),
            ]);
        }
    }
    table.row([
        "chance".into(),
        "-".into(),
        "-".into(),
        "-".into(),
        share.into(),
        share.into(),
        (2.0 * share).into(),
        share.into(),
    ]);
    table
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What is listed as an outlier, without knowing how many labels are wrong.
pub(super) fn outlying<C>(seen: &[Checkpoint<C>], corrupted: &[bool]) -> Table {
    let mut table = Table::new(
        format!("norms more than {OUTLIER} robust standard deviations above the median"),
        &["epoch", "outliers", "of them wrong", "largest ratio"],
    );
    for point in seen {
        let found = outliers(&point.norms, OUTLIER);
        let wrong = found.iter().filter(|outlier| corrupted[outlier.index]);
        table.row([
            point.epoch.into(),
            found.len().into(),
            wrong.count().into(),
            found.first().map_or(0.0, |outlier| outlier.ratio).into(),
        ]);
    }
    table
}

/// The images of the largest norms at one checkpoint.
pub(super) fn largest<C>(point: &Checkpoint<C>, given: &Digits, truth: &[usize]) -> Table {
    let mut table = Table::new(
        format!("the ten largest norms after epoch {}", point.epoch),
        &["image", "label", "truth", "norm", "over the mean", "loss"],
    );
    let typical = mean(&point.norms);
    let ranking = Ranking::new(&point.norms, &vec![false; point.norms.len()]);
    for &at in ranking.order().iter().take(10) {
        table.row([
            at.into(),
            given.labels()[at].into(),
            truth[at].into(),
            point.norms[at].into(),
            (point.norms[at] / typical).into(),
            point.losses[at].into(),
        ]);
    }
    table
}

/// The norms in falling order, the wrong labels apart.
pub(super) fn sorted<C>(point: &Checkpoint<C>, corrupted: &[bool]) -> Picture {
    let mut picture = Picture::new(
        "sorted",
        format!("gradient norms after epoch {}, sorted", point.epoch),
        Scale::log("rank"),
        Scale::log("norm of the gradient of an example"),
    );
    let ranking = Ranking::new(&point.norms, corrupted);
    for (name, wrong) in [("right label", false), ("wrong label", true)] {
        let places = ranking.order().iter().enumerate();
        let places = places.filter(|&(_, &at)| corrupted[at] == wrong);
        #[allow(clippy::cast_precision_loss)] // ranks
        let points = places.map(|(rank, &at)| ((rank + 1) as f64, point.norms[at]));
        picture.cloud(name, points.collect());
    }
    picture
}
