//! Links of this example: statistics of the batch that no link of the crate gives.
//!
//! They show that a metric is a few lines of arithmetic on values, added to the catalogue from outside.

use pergrad::transforms::program::Reduction;
use pergrad::transforms::spec::{Argument, Catalogue, Entry, Family, Link};
use pergrad::transforms::{Aggregated, Global, PerExample, Tracer, Transform, Value};

/// The standard catalogue and the links of this example.
pub(crate) fn catalogue() -> Catalogue {
    Catalogue::standard().with(MEASURE).with(GSNR)
}

const MEASURE: Entry = Entry {
    name: "measure",
    family: Family::PerExample,
    summary: "g, and a statistic of the batch as the metric `measure.value`",
    reference: "",
    arguments: &[Argument::required("what")],
    build: |args| {
        let what = args.choice("what", &Measure::ALL.map(|(name, _)| name))?;
        let found = Measure::ALL.iter().find(|(name, _)| what == Some(*name));
        let measure = found.map_or(Measure::Batch, |(_, measure)| *measure);
        Ok(Link::per_example(measure))
    },
};

/// A statistic of the batch, given out as a metric; the gradients pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    Batch,
    GnsG2,
    GnsRatio,
    GnsS,
    Gram,
    LeafNorms,
    MeanGsnr,
    MeanSquaredNorm,
    NormTest,
    Norms,
    SquaredNormOfMean,
    SquaredNorms,
}

impl Measure {
    /// Every statistic by its name in the golden files.
    pub(crate) const ALL: [(&'static str, Self); 12] = [
        ("batch", Self::Batch),
        ("gns.g2", Self::GnsG2),
        ("gns.ratio", Self::GnsRatio),
        ("gns.s", Self::GnsS),
        ("gram", Self::Gram),
        ("leaf_norms", Self::LeafNorms),
        ("mean_gsnr_ddof0", Self::MeanGsnr),
        ("mean_squared_norm", Self::MeanSquaredNorm),
        ("norm_test", Self::NormTest),
        ("norms", Self::Norms),
        ("squared_norm_of_mean", Self::SquaredNormOfMean),
        ("squared_norms", Self::SquaredNorms),
    ];
}

impl Transform<PerExample> for Measure {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        let mean_sq_norm = || x.mean().sq_norm();
        match self {
            Self::Batch => cx.emit("value", &cx.batch_size()),
            Self::Gram => cx.emit("value", &x.gram()),
            Self::LeafNorms => cx.emit("value", &x.leaf_norm()),
            Self::Norms => cx.emit("value", &x.norm()),
            Self::SquaredNorms => cx.emit("value", &x.sq_norm()),
            Self::MeanSquaredNorm => cx.emit("value", &x.sq_norm().mean()),
            Self::SquaredNormOfMean => cx.emit("value", &mean_sq_norm()),
            Self::MeanGsnr => {
                let total = gsnr(&x, 0).sum_elements().sum_leaves();
                cx.emit("value", &(total / cx.leaf_size().sum_leaves()));
            }
            Self::GnsS => cx.emit("value", &noise(&x)),
            Self::GnsG2 => cx.emit("value", &signal(&x, cx)),
            Self::GnsRatio => cx.emit("value", &(noise(&x) / signal(&x, cx))),
            Self::NormTest => {
                let ratio = noise(&x) / (mean_sq_norm() * cx.batch_size());
                cx.emit("value", &ratio.sqrt());
            }
        }
        x
    }
}

/// The trace of the covariance of the examples, `s` of the gradient noise scale. Written by deviations, not as
/// `(q - |mean|^2) / (1 - 1/B)`: that one gives 0/0 for one example, where this gives the error that it is too few, and
/// loses all digits where the mean is long.
fn noise(x: &Value<PerExample>) -> Value<Aggregated, Global> {
    let variance = x.reduce(Reduction::Variance { ddof: 1 });
    variance.sum_elements().sum_leaves()
}

/// An unbiased estimate of the squared length of the expected gradient, `g2` of the gradient noise scale.
fn signal(x: &Value<PerExample>, cx: &Tracer) -> Value<Aggregated, Global> {
    x.mean().sq_norm() - noise(x) / cx.batch_size()
}

const GSNR: Entry = Entry {
    name: "gsnr",
    family: Family::OverExamples,
    summary: "mean(g)^2 / (variance(g) + 1e-5)",
    reference: "",
    arguments: &[Argument::required("ddof")],
    build: |args| {
        let ddof = args.required_count("ddof")?;
        Ok(Link::per_example(Gsnr { ddof }))
    },
};

/// The signal-to-noise ratio of each element.
#[derive(Clone, Copy, Debug)]
struct Gsnr {
    ddof: usize,
}

impl Transform<PerExample> for Gsnr {
    type Out = Aggregated;

    fn trace(&self, x: Value<PerExample>, _cx: &mut Tracer) -> Value<Aggregated> {
        gsnr(&x, self.ddof)
    }
}

fn gsnr(x: &Value<PerExample>, ddof: usize) -> Value<Aggregated> {
    x.mean().square() / (x.reduce(Reduction::Variance { ddof }) + 1e-5)
}
