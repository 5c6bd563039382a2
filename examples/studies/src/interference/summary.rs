//! The trainings of several seeds in one row.

use super::arm::Arm;
use super::course::{Harm, Outcome};
use crate::classifier::{mean, standard_error};
use crate::picture::{Picture, Scale};
use crate::table::{Entry, Table};

/// One optimizer and its trainings, a seed each.
pub(super) struct Trained {
    pub(super) arm: Arm,
    pub(super) outcomes: Vec<Outcome>,
}

impl Trained {
    fn each(&self, of: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.outcomes.iter().map(of).collect()
    }

    fn mean(&self, of: impl Fn(&Outcome) -> f64) -> f64 {
        mean(&self.each(of))
    }

    fn shares(&self) -> [Entry; 4] {
        let share = |of: fn(&Harm) -> f64| self.mean(|outcome| outcome.mean_harm(of)).into();
        [
            share(|h| h.before),
            share(|h| h.after),
            share(|h| h.whole),
            share(|h| h.measured),
        ]
    }
}

/// The shares of the batch that a step harms, on average over steps and seeds.
pub(super) fn harm(trained: &[Trained]) -> Table {
    let base = trained[0].arm.base.name();
    let mut table = Table::new(
        format!("{base}: share of the batch that a step harms"),
        &[
            "update",
            "last layer, before",
            "last layer, after",
            "all layers, after",
            "loss really rose",
            "its std. error",
        ],
    );
    for row in trained {
        let [before, after, whole, measured] = row.shares();
        let measured_of = row.each(|outcome| outcome.mean_harm(|h| h.measured));
        table.row([
            row.arm.describe().into(),
            before,
            after,
            whole,
            measured,
            standard_error(&measured_of).into(),
        ]);
    }
    table
}

/// Losses and accuracy at the end, and what the accuracy has gained over the plain optimizer, seed by seed.
pub(super) fn quality(trained: &[Trained]) -> Table {
    let (base, seeds) = (trained[0].arm.base.name(), trained[0].outcomes.len());
    let mut table = Table::new(
        format!("{base}: at the end, {seeds} seeds"),
        &[
            "update",
            "train loss",
            "test loss",
            "test acc., %",
            "its std. error",
            "gain, points",
            "its std. error",
        ],
    );
    for row in trained {
        let accuracy = row.each(|outcome| 100.0 * outcome.accuracy);
        let gains = gains(&trained[0], row);
        table.row([
            row.arm.describe().into(),
            row.mean(|outcome| outcome.train_loss).into(),
            row.mean(|outcome| outcome.test_loss).into(),
            mean(&accuracy).into(),
            standard_error(&accuracy).into(),
            mean(&gains).into(),
            standard_error(&gains).into(),
        ]);
    }
    table
}

/// The gain in accuracy of each seed, in points. Both see the same weights and batches at first, so the difference has less noise
/// than each of the two.
fn gains(plain: &Trained, moved: &Trained) -> Vec<f64> {
    let pairs = plain.outcomes.iter().zip(&moved.outcomes);
    let points = pairs.map(|(plain, moved)| 100.0 * (moved.accuracy - plain.accuracy));
    points.map(|gain| (gain * 1e9).round() / 1e9).collect()
}

/// The same harm by the number of iterations.
pub(super) fn sweep(trained: &[Trained]) -> Table {
    let mut table = Table::new(
        "SGD, momentum, lambda inf: share of the batch that a step harms, by iterations",
        &[
            "iterations",
            "last layer, before",
            "last layer, after",
            "all layers, after",
            "loss really rose",
            "train loss",
            "test acc., %",
        ],
    );
    for row in trained {
        let [before, after, whole, measured] = row.shares();
        table.row([
            row.arm.iterations.into(),
            before,
            after,
            whole,
            measured,
            row.mean(|outcome| outcome.train_loss).into(),
            row.mean(|outcome| 100.0 * outcome.accuracy).into(),
        ]);
    }
    table
}

/// The share whose loss really rose, step by step, over the mean of the seeds.
pub(super) fn picture(trained: &[Trained]) -> Picture {
    let base = trained[0].arm.base.name();
    let slug = base.split(',').next().unwrap_or(base).to_lowercase();
    let mut picture = Picture::new(
        slug,
        format!("{base}: share of the batch whose loss a step raises"),
        Scale::linear("step"),
        Scale::linear("share (mean of seeds, smoothed)"),
    );
    for row in trained {
        let steps = row.outcomes[0].harm.len();
        let share = |step: usize| row.mean(|outcome| outcome.harm[step].measured);
        let mut smooth = share(0);
        let points = (0..steps).map(|step| {
            smooth += 0.1 * (share(step) - smooth);
            #[allow(clippy::cast_precision_loss)] // steps of a study
            (step as f64, smooth)
        });
        picture.line(row.arm.describe(), points.collect());
    }
    picture
}

/// Of each moved update, the gain in accuracy with its standard error.
pub(super) fn findings(trained: &[Trained]) -> Vec<String> {
    let moved = trained[1..].iter().map(|row| {
        let gains = gains(&trained[0], row);
        let (gain, error) = (mean(&gains), standard_error(&gains));
        let measured = |of: &Trained| of.mean(|outcome| outcome.mean_harm(|h| h.measured));
        format!(
            "{}, {}: the loss of {:.1} % of a batch rises instead of {:.1} %; accuracy {gain:+.2} points, standard error {error:.2}",
            row.arm.base.name(),
            row.arm.describe(),
            100.0 * measured(row),
            100.0 * measured(&trained[0]),
        )
    });
    moved.collect()
}
