//! The ratio of whole updates, measured with the weights at rest.
//!
//! `||E u|| / sqrt(E ||u - E u||^2)` over steps whose updates are not applied. A mean over steps has noise, which would count as
//! signal; so two runs with other batches each give a mean, and `||E u||^2` is taken as the product of the two.

use std::error::Error;

use pergrad::transforms::placement::SignPlacement;
use pergrad::{Optimizer, Updates, per_example_grads};

use super::sweep::{optimizer, spec};
use super::{PLACES, Place, number};
use crate::transformer::Transformer;

/// The ratio of the whole update of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// The chain.
    pub place: SignPlacement,
    /// Its ratio; 0 where no signal was found in the noise.
    pub snr: f64,
}

struct Sums {
    optimizer: Optimizer,
    sum: Vec<f64>,
    squares: f64,
}

/// Measures all four chains on the same batches.
///
/// # Errors
/// A text that is too short.
pub fn at_rest(at: &Place<'_>, model: &Transformer) -> Result<Vec<Whole>, Box<dyn Error>> {
    let runs = [run(at, model, 501)?, run(at, model, 502)?];
    let steps = number(at.settings.at_rest);
    let wholes = PLACES.iter().enumerate().map(|(which, &place)| {
        let [one, other] = [&runs[0][which], &runs[1][which]];
        let products = one.sum.iter().zip(&other.sum).map(|(a, b)| a * b);
        let signal = products.sum::<f64>() / (steps * steps);
        let noise = (one.squares + other.squares) / (2.0 * steps) - signal;
        let snr = (signal.max(0.0) / noise).sqrt();
        Whole { place, snr }
    });
    Ok(wholes.collect())
}

fn run(at: &Place<'_>, model: &Transformer, purpose: u64) -> Result<Vec<Sums>, Box<dyn Error>> {
    let settings = at.settings;
    let device = burn::tensor::Device::default().autodiff();
    let mut random = settings.random(purpose);
    let mut sums = Vec::new();
    for place in PLACES {
        sums.push(Sums {
            optimizer: optimizer(&spec(place, settings.beta)?, 1.0)?,
            sum: Vec::new(),
            squares: 0.0,
        });
    }
    // beta^60 is 0.002 for 0.9: the average has forgotten that it began at 0.
    let mut forgotten = 0;
    while settings.beta.powi(forgotten) > 2e-3 && forgotten < 1000 {
        forgotten += 1;
    }
    let forgotten = usize::try_from(forgotten).unwrap_or(0);
    for step in 0..forgotten + settings.at_rest {
        let context = settings.model.context;
        let batch = at
            .text
            .batch(settings.batch, context, &mut random, &device)?;
        let (_, grads) = per_example_grads(model, |m| m.losses(batch))?;
        for sums in &mut sums {
            let updates = sums.optimizer.update(model, &grads)?;
            if step < forgotten {
                continue;
            }
            let updates = numbers(&updates, grads.paths())?;
            sums.sum.resize(updates.len(), 0.0);
            sums.squares += updates.iter().map(|u| u * u).sum::<f64>();
            for (sum, u) in sums.sum.iter_mut().zip(updates) {
                *sum += u;
            }
        }
        at.bar.inc(1);
    }
    Ok(sums)
}

/// All numbers of an update, leaf after leaf.
fn numbers<'a>(
    updates: &Updates,
    paths: impl Iterator<Item = &'a str>,
) -> Result<Vec<f64>, pergrad::Error> {
    let mut all = Vec::new();
    for path in paths {
        // The model has vectors and matrices.
        let data = match updates.leaf::<2>(path) {
            Ok(matrix) => matrix.into_data(),
            Err(_) => updates.leaf::<1>(path)?.into_data(),
        };
        all.extend(data.iter::<f64>());
    }
    Ok(all)
}
