//! Small and large batches agree in expectation, where the noise scale is known and stays as it is.

use burn::tensor::Device;
use pergrad::Optimizer;
use pergrad::prelude::*;

use super::Settings;
use super::identities::number;
use crate::quadratic::Quadratic;
use crate::random::Random;
use crate::sample::Sample;
use crate::table::Table;

/// The sizes that are compared.
pub const SIZES: [usize; 2] = [4, 64];

/// Means and standard deviations of the gradients: a squared norm of 16, a trace of 38.375, so a noise scale of 2.398.
const COORDINATES: usize = 16;

/// What one way to estimate said.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Which.
    pub way: String,
    /// Of G^2, for each batch.
    pub g2: Sample,
    /// Of S, for each batch.
    pub s: Sample,
}

/// The estimates, and the truth: G^2 and S.
///
/// # Errors
/// What the optimizer says.
pub fn estimate(
    settings: &Settings,
) -> Result<(Vec<Estimate>, [f64; 2]), Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    #[allow(clippy::cast_precision_loss)] // coordinates
    let coordinates = (0..COORDINATES).map(|at| (1.0, 0.5 + 0.125 * at as f64));
    let quadratic = Quadratic::new(coordinates);
    let point = quadratic.point(&device);
    let mut estimates = Vec::new();
    let mut squared = [(); SIZES.len()].map(|()| Vec::new());
    for (examples, squared) in SIZES.into_iter().zip(&mut squared) {
        let mut random = Random::new(settings.seed);
        let mut optimizer = Optimizer::new(chain((monitor::gns().decay(0.0), mean())))?;
        let (mut g2, mut s) = (Sample::default(), Sample::default());
        for _ in 0..settings.draws {
            let grads = quadratic.grads(examples, &mut random, &device)?;
            let mean = optimizer.update(&point, &grads)?.leaf::<1>("w")?;
            squared.push(mean.into_data().iter::<f64>().map(|g| g * g).sum::<f64>());
            let metrics = optimizer.metrics()?;
            g2.take(number(&metrics, "gns.g2"));
            s.take(number(&metrics, "gns.s"));
        }
        let way = format!("monitor::gns, B = {examples}");
        estimates.push(Estimate { way, g2, s });
    }
    let (mut g2, mut s) = (Sample::default(), Sample::default());
    for (small, big) in squared[0].iter().zip(&squared[1]) {
        let it = monitor::noise_scale_from_norms(SIZES[0], *small, SIZES[1], *big)?;
        g2.take(it.g2);
        s.take(it.s);
    }
    let way = format!("norms of batches of {} and {}", SIZES[0], SIZES[1]);
    estimates.push(Estimate { way, g2, s });
    Ok((estimates, [quadratic.signal(), quadratic.noise()]))
}

/// The estimates beside the truth.
pub(super) fn table(estimates: &[Estimate], [signal, noise]: [f64; 2]) -> Table {
    let mut table = Table::new(
        "A stochastic quadratic with known noise: mean estimates, and how far off in standard errors",
        &["way", "G2", "off", "S", "off", "S / G2"],
    );
    table.row([
        "truth".into(),
        signal.into(),
        "".into(),
        noise.into(),
        "".into(),
        (noise / signal).into(),
    ]);
    for it in estimates {
        table.row([
            it.way.clone().into(),
            it.g2.mean().into(),
            it.g2.errors_from(signal).into(),
            it.s.mean().into(),
            it.s.errors_from(noise).into(),
            (it.s.mean() / it.g2.mean()).into(),
        ]);
    }
    table
}
