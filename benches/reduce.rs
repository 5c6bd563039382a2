//! Statistics over the examples of one dense leaf `[B, P]` in f32, against one pass that reads the same bytes.
//!
//!     cargo bench --bench reduce [-- SUBSTRING]
//!
//! The floor is `read`: the sum of all elements by every core, in memory order. On a device that is not the CPU (`BURN_DEVICE=cuda cargo bench
//! --features cuda --bench reduce`) it is `copy`, which moves every byte twice. Beside each statistic stand burn's own operations.

mod support;

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, Tensor};
use pergrad::prelude::*;
use pergrad::transforms::program::Reduction;
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Optimizer, PerExampleGrads};
use rayon::prelude::*;
use support::Bench;

#[derive(Module, Debug)]
struct Leaf {
    w: Param<Tensor<1>>,
}

/// Statistics as metrics; the update is the first of them.
#[derive(Clone, Copy, Debug)]
enum Statistics {
    Mean,
    MeanSquare,
    MeanSquareSign,
    Four,
    ClippedMean(f64),
    Norms,
}

impl Transform<PerExample> for Statistics {
    type Out = Aggregated;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        match *self {
            Self::Mean => {}
            Self::MeanSquare => cx.emit("square", &g.square().mean()),
            Self::MeanSquareSign => {
                cx.emit("square", &g.square().mean());
                cx.emit("sign", &g.sign().mean());
            }
            Self::Four => {
                cx.emit("variance", &g.reduce(Reduction::Variance { ddof: 0 }));
                cx.emit("sign", &g.sign().mean());
                cx.emit("abs", &g.abs().mean());
            }
            Self::ClippedMean(bound) => {
                let weights = (g.norm() / bound).max(1.0);
                return (&g / weights).mean();
            }
            Self::Norms => {
                cx.emit("norms", &g.norm());
                return cx.params() * 0.0;
            }
        }
        g.mean()
    }
}

/// The same by burn's operations.
fn burns(statistics: Statistics, g: &Tensor<2>) -> Vec<Tensor<2>> {
    let mean = || g.clone().mean_dim(0);
    let square = || (g.clone() * g.clone()).mean_dim(0);
    let sign = || g.clone().sign().mean_dim(0);
    let norms = || (g.clone() * g.clone()).sum_dim(1).sqrt();
    match statistics {
        Statistics::Mean => vec![mean()],
        Statistics::MeanSquare => vec![mean(), square()],
        Statistics::MeanSquareSign => vec![mean(), square(), sign()],
        Statistics::Four => vec![
            mean(),
            g.clone().var_bias(0),
            sign(),
            g.clone().abs().mean_dim(0),
        ],
        Statistics::ClippedMean(bound) => {
            let weights = norms().div_scalar(bound).clamp_min(1.0);
            vec![(g.clone() / weights).mean_dim(0)]
        }
        Statistics::Norms => vec![norms()],
    }
}

/// The sum of all elements: every byte is read once, and nothing else happens.
fn read(values: &[f32]) -> f32 {
    let sum = |chunk: &[f32]| {
        let mut lanes = [0.0_f32; 32];
        for part in chunk.chunks_exact(32) {
            lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x);
        }
        lanes.iter().sum::<f32>()
    };
    values.par_chunks(1 << 16).map(sum).sum()
}

fn main() {
    let device = Device::default();
    let on_cpu = format!("{device:?}").contains("Flex");
    let mut all = Bench::new(["B x P", "statistics"]);
    for size in [100_000, 1_000_000, 4_000_000] {
        for examples in [8, 64, 256] {
            let name = format!("{examples} x {size}");
            if examples * size > 300_000_000 || !all.wants(&name) {
                continue;
            }
            let shift = Distribution::Normal(0.25, 1.0);
            let g = Tensor::<2>::random([examples, size], shift, &device);
            let weight = Tensor::<1>::zeros([size], &device.clone().autodiff());
            let model = Leaf {
                w: Param::from_tensor(weight),
            };
            let grads = PerExampleGrads::builder().leaf("w", g.clone());
            let grads = grads.build().unwrap();
            let mut rows = if on_cpu {
                let values = g.to_data();
                let values = values.as_slice::<f32>().unwrap();
                vec![all.measure(&name, "read", &mut || {
                    std::hint::black_box(read(values));
                })]
            } else {
                vec![all.measure(&name, "copy", &mut || drop(g.clone().mul_scalar(2.0)))]
            };
            #[allow(clippy::cast_precision_loss)]
            let bound = (size as f64).sqrt();
            for (label, statistics) in [
                ("mean", Statistics::Mean),
                ("mean, square", Statistics::MeanSquare),
                ("mean, square, sign", Statistics::MeanSquareSign),
                ("mean, variance, sign, abs", Statistics::Four),
                ("clipped mean", Statistics::ClippedMean(bound)),
                ("norms", Statistics::Norms),
            ] {
                let mut optimizer = Optimizer::new(statistics).unwrap();
                rows.push(all.measure(&name, label, &mut || {
                    drop(optimizer.update(&model, &grads).unwrap());
                }));
                rows.push(all.measure(&name, &format!("{label}: burn"), &mut || {
                    drop(burns(statistics, &g));
                }));
            }
            all.report(&name, rows);
        }
    }
    all.finish();
}
