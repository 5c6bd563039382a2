//! The gradient noise scale as a link from outside the crate, from public pieces.

use pergrad_transforms::extent::Global;
use pergrad_transforms::program::Reduction;
use pergrad_transforms::{Aggregated, PerExample, Tracer, Transform, Value};

/// Passes the gradients on, and gives out averages of `G^2` and of `S`, and their ratio (arXiv 2411.00999).
///
/// Both averages are debiased; the ratio is that of the averages, never an average of ratios. `G^2` is clamped at 0 before
/// the division, so that noise without a signal is infinite; no noise and no signal is 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoiseScale {
    pub(crate) decay: f64,
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
