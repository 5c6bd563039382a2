//! What each statistic is worth, measured where the answer is known.
//!
//! Each statistic is a chain of its own, run on burn over gradients whose mean and variance are set, and averaged over many batches.

use burn::tensor::Device;
use pergrad::Optimizer;
use pergrad::prelude::*;

use super::Settings;
use crate::quadratic::Quadratic;
use crate::random::Random;
use crate::sample::Sample;
use crate::table::Table;

/// The mean and the standard deviation of a gradient: much signal, as much as noise, little, none.
const KINDS: [(f64, f64); 4] = [(2.0, 0.5), (1.0, 1.0), (0.1, 1.0), (0.0, 1.0)];

/// So many coordinates of each kind.
const COPIES: usize = 64;

/// One statistic of one batch size.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The optimizer that divides by it.
    pub name: &'static str,
    /// The number of examples.
    pub examples: usize,
    /// For each kind of coordinate the expectation by the formula, and what came.
    pub kinds: [(f64, Sample); 4],
}

/// A statistic, and its expectation for gradients of mean square `m` and variance `s` in batches of `b`.
type Statistic = (
    &'static str,
    fn() -> Result<Optimizer, pergrad::Error>,
    fn(m: f64, s: f64, b: f64) -> f64,
);

const STATISTICS: [Statistic; 4] = [
    (
        "Adam",
        || Optimizer::new(chain((mean(), square()))),
        |m, s, b| m + s / b,
    ),
    (
        "MicroAdam",
        || Optimizer::new(chain((square(), mean()))),
        |m, s, _| m + s,
    ),
    ("MicroAdamVar", || Optimizer::new(variance(1)), |_, s, _| s),
    (
        "MicroAdamMSQ",
        || Optimizer::new(unbiased_square_of_mean()),
        |m, _, _| m,
    ),
];

/// Measures every statistic for every batch size.
///
/// # Errors
/// What the optimizers say.
#[allow(clippy::cast_precision_loss)] // batch sizes
pub fn measure(settings: &Settings) -> Result<Vec<Measured>, Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let copies = KINDS.iter().flat_map(|kind| [*kind; COPIES]);
    let quadratic = Quadratic::new(copies);
    let point = quadratic.point(&device);
    let mut all = Vec::new();
    for &examples in &settings.batch_sizes {
        let mut random = Random::new(settings.seed);
        let mut optimizers = STATISTICS.iter().map(|(_, make, _)| make());
        let mut optimizers = optimizers.by_ref().collect::<Result<Vec<_>, _>>()?;
        let mut found = [[Sample::default(); 4]; 4];
        for _ in 0..settings.draws {
            let grads = quadratic.grads(examples, &mut random, &device)?;
            for (optimizer, kinds) in optimizers.iter_mut().zip(&mut found) {
                let statistic = optimizer.update(&point, &grads)?.leaf::<1>("w")?;
                let numbers: Vec<f32> = statistic.into_data().iter::<f32>().collect();
                for (numbers, kind) in numbers.chunks(COPIES).zip(kinds) {
                    numbers.iter().for_each(|x| kind.take(f64::from(*x)));
                }
            }
        }
        for ((name, _, expected), found) in STATISTICS.iter().zip(found) {
            let expected = KINDS.map(|(m, s)| expected(m * m, s * s, examples as f64));
            let mut samples = found.into_iter();
            let kinds = expected.map(|e| (e, samples.next().expect("one for each kind")));
            all.push(Measured {
                name,
                examples,
                kinds,
            });
        }
    }
    Ok(all)
}

/// The expectations by the formulas beside the means that came.
pub(super) fn table(all: &[Measured]) -> Table {
    let title = "Second moments of a stochastic quadratic, by formula and measured (mean mu, deviation s of a gradient)";
    let mut table = Table::new(
        title,
        &[
            "B",
            "optimizer",
            "mu 2, s 0.5",
            "measured",
            "mu 1, s 1",
            "measured",
            "mu 0.1, s 1",
            "measured",
            "mu 0, s 1",
            "measured",
            "worst, in standard errors",
        ],
    );
    for it in all {
        let errors = it.kinds.iter().map(|(e, sample)| sample.errors_from(*e));
        let worst = errors.fold(0.0, f64::max);
        let [a, b, c, d] = it.kinds.map(|(e, sample)| [e, sample.mean()]);
        table.row([
            it.examples.into(),
            it.name.into(),
            a[0].into(),
            a[1].into(),
            b[0].into(),
            b[1].into(),
            c[0].into(),
            c[1].into(),
            d[0].into(),
            d[1].into(),
            worst.into(),
        ]);
    }
    table
}
