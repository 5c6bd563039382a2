//! The gradient noise scale as a link from outside the crate, from public pieces: it measures what `monitor::gns` does.

use pergrad_transforms::extent::Global;
use pergrad_transforms::prelude::*;
use pergrad_transforms::program::Reduction;
use pergrad_transforms::{Aggregated, PerExample};

use crate::model::{add_leaf, steps};
use crate::random::Random;
use crate::tolerance::assert_close;

/// Passes the gradients on, and gives out averages of `G^2` and of `S`, and their ratio (arXiv 2411.00999).
///
/// Both averages are debiased; the ratio is that of the averages, never an average of ratios. `G^2` is clamped at 0 before
/// the division, so that noise without a signal is infinite; no noise and no signal is 0.
#[derive(Clone, Debug)]
struct NoiseScale {
    decay: f64,
}

impl Transform<PerExample> for NoiseScale {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        let variance = x.reduce(Reduction::Variance { ddof: 1 });
        let s = variance.sum_elements().sum_leaves();
        let g2 = x.mean().sq_norm() - &s / cx.batch_size();
        let t = cx.step() + 1.0;
        let debias = 1.0 - cx.constant(self.decay).pow(t);
        let average = |cx: &Tracer, name: &str, x: &Value<Aggregated, Global>| {
            let moment = cx.state(name, 0.0, |m: Value<Aggregated, Global>| {
                m * self.decay + x * (1.0 - self.decay)
            });
            moment / &debias
        };
        let (g2, s) = (average(cx, "g2_moment", &g2), average(cx, "s_moment", &s));
        cx.emit("g2", &g2);
        cx.emit("s", &s);
        cx.emit("gns", &s.div_or_zero(g2.max(0.0)));
        x
    }
}

#[test]
fn a_link_from_outside_the_crate_measures_what_the_monitor_measures() {
    let mut random = Random::new(2411);
    let batch = |_| {
        let mut input = Default::default();
        for (path, size) in [("a", 2), ("w", 3)] {
            let noise = random.normals(4 * size);
            let grads = noise.iter().map(|x| x + 1.0).collect();
            add_leaf(&mut input, path, &[size], 4, grads);
        }
        input
    };
    let inputs: Vec<_> = (0..4).map(batch).collect();
    let own = program(&chain((NoiseScale { decay: 0.5 }, mean()))).unwrap();
    let monitor = program(&chain((monitor::gns().decay(0.5), mean()))).unwrap();
    let (got, expected) = (steps::<f64>(&own, &inputs), steps::<f64>(&monitor, &inputs));
    for (got, expected) in got.iter().zip(&expected) {
        for (own, monitor) in [("g2", "g2"), ("s", "s"), ("gns", "scale")] {
            let own = &got.metrics[&format!("noise_scale.{own}")];
            assert_close::<f64>(own, &expected.metrics[&format!("gns.{monitor}")], monitor);
        }
        assert_eq!(got.updates, expected.updates);
    }
}
