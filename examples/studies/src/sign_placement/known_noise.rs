//! The chains on gradients whose signal and noise are known.
//!
//! Each coordinate has a quadratic of its own. The loss of example b is `(w - t_b)^2 / 2` with the target `t_b = w - r + normal`, so
//! that its gradient is `r + normal`: signal r, noise 1, as long as w rests, and w rests here. All coordinates of one r are
//! repetitions of one experiment, and the ratio of an update is its mean over them divided by its standard deviation.

use std::error::Error;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use indicatif::ProgressBar;
use pergrad::prelude::*;
use pergrad::transforms::placement::{PlacementSnr, SignPlacement};
use pergrad::{Optimizer, PerExampleGrads};
use serde::Serialize;

use super::{PLACES, number, ratio};
use crate::random::Random;

/// What the part with known noise is asked for.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct NoiseSettings {
    /// Known noise: how many coordinates repeat each experiment
    #[arg(long, default_value_t = 4096)]
    pub noise_coordinates: usize,
    /// Known noise: examples in a batch
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,256")]
    pub noise_batches: Vec<usize>,
    /// Known noise: decays of the moving average
    #[arg(long, value_delimiter = ',', default_value = "0,0.9")]
    pub noise_betas: Vec<f64>,
    /// Known noise: signal-to-noise ratios of single gradients
    #[arg(long, value_delimiter = ',', default_value = "0.01,0.05,0.2")]
    pub noise_ratios: Vec<f64>,
}

impl NoiseSettings {
    /// Seconds, for tests.
    pub fn tiny() -> Self {
        Self {
            noise_coordinates: 2048,
            noise_batches: vec![1, 16],
            noise_betas: vec![0.0, 0.8],
            noise_ratios: vec![0.02, 0.1],
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let lists = [
            ("--noise-batches", self.noise_batches.len()),
            ("--noise-betas", self.noise_betas.len()),
            ("--noise-ratios", self.noise_ratios.len()),
        ];
        if let Some((name, _)) = lists.into_iter().find(|(_, length)| *length == 0) {
            return Err(format!("{name} needs at least one number"));
        }
        if self.noise_coordinates < 2 {
            let got = self.noise_coordinates;
            return Err(format!("--noise-coordinates must be at least 2, not {got}"));
        }
        if self.noise_batches.contains(&0) {
            return Err("--noise-batches must be at least 1, not 0".to_owned());
        }
        // A longer average needs too many steps until it forgets its start.
        let betas = self.noise_betas.iter();
        if let Some(beta) = betas.copied().find(|beta| !(0.0..=0.999).contains(beta)) {
            return Err(format!("--noise-betas must be from 0 to 0.999, not {beta}"));
        }
        if let Some(r) = self.noise_ratios.iter().find(|r| !r.is_finite()) {
            return Err(format!("--noise-ratios must be finite, not {r}"));
        }
        Ok(())
    }

    /// How many steps it is.
    pub(super) fn work(&self) -> usize {
        self.noise_batches.len() * self.steps()
    }

    /// Until the slowest average has forgotten its start: `beta^steps < 1e-4`.
    fn steps(&self) -> usize {
        let slowest = self.noise_betas.iter().copied().fold(0.0, f64::max);
        let mut steps = 1;
        while slowest.powi(steps) > 1e-4 {
            steps += 1;
        }
        usize::try_from(steps).unwrap_or(1)
    }
}

/// The ratio of one chain for one setting.
#[derive(Clone, Debug)]
pub struct Ratio {
    /// Examples in a batch.
    pub batch: usize,
    /// The decay of the moving average.
    pub beta: f64,
    /// The ratio of single gradients.
    pub r: f64,
    /// The chain.
    pub place: SignPlacement,
    /// The closed form.
    pub predicted: f64,
    /// What came; infinite if all coordinates had the same update.
    pub measured: f64,
    /// The standard error of what came, from its own moments; infinite with it.
    pub error: f64,
}

#[derive(Module, Debug)]
struct Point {
    w: Param<Tensor<2>>,
}

fn optimizer(place: SignPlacement, beta: f64) -> Result<Optimizer, pergrad::Error> {
    match place {
        SignPlacement::MicroSign => Optimizer::new(micro_sign_sgd(1.0).beta(beta)),
        SignPlacement::Sign => Optimizer::new(sign_sgd(1.0).beta(beta)),
        SignPlacement::SignEma => Optimizer::new(sign_ema(1.0).beta(beta)),
        SignPlacement::NoSign => {
            let average = ema(beta).debias(false);
            Optimizer::new(chain((mean(), average, scale_by_learning_rate(1.0))))
        }
    }
}

/// Runs all chains on the same gradients and takes the ratios of their last updates.
///
/// # Errors
/// Settings that make no sense.
pub fn measure(
    settings: &NoiseSettings,
    seed: u64,
    bar: &ProgressBar,
) -> Result<Vec<Ratio>, Box<dyn Error>> {
    settings.check()?;
    let device = Device::default().autodiff();
    let (rows, columns) = (settings.noise_ratios.len(), settings.noise_coordinates);
    let point = Point {
        w: Param::from_tensor(Tensor::zeros([rows, columns], &device)),
    };
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    for &batch in &settings.noise_batches {
        let mut running = Vec::new();
        for &beta in &settings.noise_betas {
            for place in PLACES {
                running.push((beta, place, optimizer(place, beta)?));
            }
        }
        let steps = settings.steps();
        for step in 0..steps {
            let grads = gradients(settings, batch, &mut random)?;
            for (beta, place, optimizer) in &mut running {
                let updates = optimizer.update(&point, &grads)?;
                if step + 1 < steps {
                    continue;
                }
                let updates: Vec<f64> = updates.leaf::<2>("w")?.into_data().iter().collect();
                for (&r, updates) in settings.noise_ratios.iter().zip(updates.chunks(columns)) {
                    let (measured, error) = signal_to_noise(updates);
                    found.push(Ratio {
                        batch,
                        beta: *beta,
                        r,
                        place: *place,
                        predicted: ratio(&PlacementSnr::new(r, batch, *beta), *place),
                        measured,
                        error,
                    });
                }
            }
            bar.inc(1);
        }
    }
    Ok(found)
}

/// `[B, R, C]`: signal r in row r, noise 1.
#[allow(clippy::cast_possible_truncation)] // f32 gradients
fn gradients(
    settings: &NoiseSettings,
    batch: usize,
    random: &mut Random,
) -> Result<PerExampleGrads, pergrad::Error> {
    let (ratios, columns) = (&settings.noise_ratios, settings.noise_coordinates);
    let mut values = Vec::with_capacity(batch * ratios.len() * columns);
    for _ in 0..batch {
        for &r in ratios {
            values.extend((0..columns).map(|_| (r + random.normal()) as f32));
        }
    }
    let data = TensorData::new(values, [batch, ratios.len(), columns]);
    let g = Tensor::<3>::from_data(data, &Device::default());
    PerExampleGrads::builder().leaf("w", g).build()
}

/// The mean of minus the updates, divided by their standard deviation, and the standard error of it: by the delta method the variance of
/// `mean / std` of C draws is `(1 - s skew + s^2 (kurtosis - 1) / 4) / C`. For two values that is the exact `(1 + s^2)^2 / C`.
fn signal_to_noise(updates: &[f64]) -> (f64, f64) {
    let count = number(updates.len());
    let mean = -updates.iter().sum::<f64>() / count;
    let moment = |power| updates.iter().map(|u| (-u - mean).powi(power)).sum::<f64>() / count;
    let std = moment(2).sqrt();
    if std == 0.0 {
        // All alike: what is rarer than one in all coordinates was not seen.
        return (mean.signum() * f64::INFINITY, f64::INFINITY);
    }
    let s = mean / std;
    let (skew, kurtosis) = (moment(3) / std.powi(3), moment(4) / std.powi(4));
    let variance = 1.0 - s * skew + s * s * (kurtosis - 1.0) / 4.0;
    (s, (variance.max(0.0) / count).sqrt())
}
