//! Every member of the family with every learning rate, for every batch size.

use burn::tensor::Device;
use indicatif::ProgressBar;

use super::Settings;
use super::family::{members, train};
use crate::random::Random;
use crate::sample::Line;
use crate::text::Text;
use crate::transformer::Transformer;

/// The losses of one member over the learning rates.
#[derive(Clone, Debug)]
pub struct Row {
    /// The number of examples.
    pub examples: usize,
    /// The member.
    pub member: &'static str,
    /// Whether its update was clipped.
    pub clipped: bool,
    /// The final loss for each learning rate; infinite where it came to numbers that are none.
    pub losses: Vec<f64>,
}

impl Row {
    /// The least loss.
    pub fn best(&self) -> f64 {
        self.losses.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The best learning rate: the lowest point of the parabola through the best rate of the grid and its two neighbours, over the
    /// logarithm of the rate. None where the best lies at an end of the grid, so that the real one may lie beyond, or where a neighbour is
    /// more than one nat worse: what blows up is no parabola.
    pub fn best_rate(&self, rates: &[f64]) -> Option<f64> {
        let best = self.best();
        let at = self.losses.iter().position(|loss| *loss == best)?;
        let near = |at: usize| self.losses.get(at).is_some_and(|loss| *loss < best + 1.0);
        if at == 0 || !near(at - 1) || !near(at + 1) {
            return None;
        }
        let x = |at: usize| rates[at].ln();
        let (left, right) = (x(at) - x(at - 1), x(at + 1) - x(at));
        let (rise_left, rise_right) = (self.losses[at - 1] - best, self.losses[at + 1] - best);
        let above = left * left * rise_right - right * right * rise_left;
        let below = left * rise_right + right * rise_left;
        // All three alike have no lowest point.
        (below > 0.0).then(|| (x(at) - above / (2.0 * below)).exp())
    }
}

/// Trains everything.
///
/// # Errors
/// A text or a model that is refused, and what the optimizer says.
pub fn run(settings: &Settings, bar: &ProgressBar) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let text = Text::load(&settings.text)?;
    let context = settings.model.context;
    let held_out = text.validation(settings.validation, context, &device)?;
    let model = Transformer::new(&settings.model, text.vocabulary(), settings.seed, &device)?;
    let mut rows = Vec::new();
    for &examples in &settings.batch_sizes {
        // The same batches for every member and every rate.
        let mut random = Random::new(settings.seed);
        let batches =
            (0..settings.steps).map(|_| text.batch(examples, context, &mut random, &device));
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        for clip in [None, Some(settings.clip)] {
            for member in members(examples) {
                let bounds = (clip, settings.eps);
                let mut losses = Vec::new();
                for &rate in &settings.learning_rates {
                    bar.set_message(format!("B {examples}, {}", member.name));
                    let fresh = model.clone();
                    losses.push(train(fresh, member, rate, bounds, &batches, &held_out)?);
                    bar.inc(1);
                }
                rows.push(Row {
                    examples,
                    member: member.name,
                    clipped: clip.is_some(),
                    losses,
                });
            }
        }
    }
    Ok(rows)
}

/// The slope of the logarithm of the best learning rate over that of the batch size, of the batch sizes that have a best rate. None if
/// that is one at most.
#[allow(clippy::cast_precision_loss)] // batch sizes
pub fn rate_exponent(rows: &[&Row], rates: &[f64]) -> Option<f64> {
    let points = rows.iter().filter_map(|row| {
        let rate = row.best_rate(rates)?;
        Some(((row.examples as f64).ln(), rate.ln()))
    });
    Line::through(points).map(|line| line.slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(examples: usize, losses: &[f64]) -> Row {
        Row {
            examples,
            member: "any",
            clipped: false,
            losses: losses.to_vec(),
        }
    }

    #[test]
    fn the_best_rate_is_the_lowest_point_of_a_parabola() {
        let rates = [0.01, 0.03, 0.2, 0.5];
        let losses = rates.map(|rate: f64| 1.0 + 0.1 * (rate.ln() - 0.05_f64.ln()).powi(2));
        assert!((row(4, &losses).best_rate(&rates).unwrap() - 0.05).abs() < 1e-9);
        assert_eq!(row(4, &[1.0, 1.2, 1.3, 1.4]).best_rate(&rates), None);
        assert_eq!(row(4, &[1.2, 1.0, 1e9, 1e9]).best_rate(&rates), None);
        let lost = row(4, &[f64::INFINITY; 4]);
        assert!(lost.best_rate(&rates).is_none() && lost.best().is_infinite());
    }

    #[test]
    fn rates_that_grow_with_the_root_of_the_batch_have_the_exponent_a_half() {
        let rates = [0.01, 0.02, 0.04, 0.08];
        let small = row(4, &[1.2, 1.0, 1.2, 1.4]);
        let large = row(16, &[1.4, 1.2, 1.0, 1.2]);
        let exponent = rate_exponent(&[&small, &large], &rates).unwrap();
        assert!((exponent - 0.5).abs() < 1e-12);
        assert!(rate_exponent(&[&small], &rates).is_none());
    }
}
