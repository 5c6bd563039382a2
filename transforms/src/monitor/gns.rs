//! The gradient noise scale.

use super::spread::trace_by_norms;
use crate::axis::{Aggregated, ExamplesApart, PerExample};
use crate::extent::Lasting;
use crate::hyper::{Domain, Hyper, hyper_setters};
use crate::leaves::Leaves;
use crate::program::Reduction;
use crate::spec::{Argument, Entry, Family, Link};
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

pub(crate) const ENTRY: Entry = Entry {
    name: "gns",
    family: Family::Monitor,
    summary: "gns.scale = S / G^2, from averages of S = trace Cov(g) and G^2 = ||mean g||^2 - S / B",
    reference: "Gray et al., 2024, arXiv 2411.00999; McCandlish et al., 2018, arXiv 1812.06162",
    arguments: &[
        Argument::optional("decay", "0.99"),
        Argument::optional("leaves", "all"),
        Argument::optional("over", "all"),
        Argument::optional("by", "norms"),
    ],
    build: |args| {
        let mut link = gns();
        args.set_hyper("decay", &mut link.decay)?;
        if let Some(leaves) = args.leaves("leaves")? {
            link.leaves = leaves;
        }
        link.per_leaf = args.choice("over", &["all", "leaves"])? == Some("leaves");
        link.by_variance = args.choice("by", &["norms", "variance"])? == Some("variance");
        Ok(Link::per_example(link))
    },
};

/// The gradient noise scale. Built by [`gns`].
#[derive(Clone, Debug)]
pub struct Gns {
    decay: Hyper,
    leaves: Leaves,
    per_leaf: bool,
    by_variance: bool,
}

/// Passes the gradients on, and measures their noise scale: the batch size, in examples, at which noise and signal of the mean
/// gradient are equal.
///
/// ```text
/// S  = (mean_b ||g_b||^2 - ||mean g||^2) / (1 - 1/B)       the trace of the covariance of one example
/// G2 = (B ||mean g||^2 - mean_b ||g_b||^2) / (B - 1)       the squared norm of the true gradient, = ||mean g||^2 - S / B
/// ```
///
/// Both are unbiased for a batch; their ratio would not be. So each is averaged over the steps on its own, and the ratio is that
/// of the averages. `||mean g||^2 = G2 + S / B` and `mean_b ||g_b||^2 = G2 + S` hold for every batch.
///
/// | metric | what | units |
/// |--|--|--|
/// | `gns.g2` | the debiased average of `G2`; may be negative | (loss/param)^2 |
/// | `gns.s` | the debiased average of `S` | (loss/param)^2 |
/// | `gns.scale` | `max(S, 0) / max(G2, 0)` | examples |
///
/// The default decay of 0.99, some hundred steps, is ours; the sums run over all parameters before anything is divided. Tied
/// weights have one gradient, so their uses are added before its norm is taken.
///
/// # Leaves
/// Gray et al. find the scale of the normalization layers alone to predict that of the whole model. [`leaves`](Gns::leaves)
/// restricts the link; for a scale for each type of layer, several of them are named:
/// ```
/// use pergrad_transforms::prelude::*;
/// let norms = monitor::gns().leaves(Leaves::matching("*norm*")).named("gns_norms");
/// let matrices = monitor::gns().leaves(Leaves::RankAtLeast(2)).named("gns_matrices");
/// let program = program(&chain((norms, matrices, mean()))).unwrap();
/// assert_eq!(program.outputs()[3].name, "gns_norms.scale");
/// ```
///
/// # By norms or by variance
/// By norms, the default, `S` needs the norm of each example and of the mean. For a leaf in factors, such as the weight of a
/// linear layer, the norms cost a small part of the gradients of all examples, which [`by_variance`](Gns::by_variance) has to
/// compute. What is lost is of no consequence here: where `S` is small beside `G2`, its rounding error makes an absolute
/// error of about 1e-7 in the scale (in f32), and a scale below 1 says that one example is enough.
///
/// By variance, `S` itself keeps its digits where the examples all but agree; and where all gradients are dense, or the optimizer
/// takes the variance anyway, it is the cheaper way: the variance comes from the same pass as the mean.
///
/// # State
/// `gns.g2_moment`, `gns.s_moment` and `gns.weight`, a number each (for each leaf with [`per_leaf`](Gns::per_leaf)). The weight
/// is what the averages have taken in so far, `1 - decay^t` for a constant decay, so that the debiasing is exact for a schedule too.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | B < 2 | an error that names the link: there is no noise to see in one example |
/// | no signal: average of `G2` at most 0 | `gns.scale` is infinite |
/// | all gradients zeros | `gns.scale` is 0 |
/// | all examples alike | `gns.scale` is 0, but for rounding |
/// | a NaN or an infinity in one example | the batch is left out of the averages; the gradients pass on, where it shows |
/// | no batch yet without such | NaN |
/// | norm above 1.8e19 in f32 | the square overflows: as an infinity |
///
/// # Errors
/// `decay` must be at least 0 and below 1; a selection of leaves must fit the model, when the chain is bound to it.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// assert!(program(&chain((monitor::gns().decay(0.9), mean()))).is_ok());
/// assert!(program(&chain((monitor::gns().decay(1.0), mean()))).is_err());
/// ```
///
/// # Reference
/// Gray, Tiwari, Bergsma, Hestness, 2024, arXiv 2411.00999, for per-example norms; McCandlish, Kaplan, Amodei, 2018,
/// arXiv 1812.06162, appendix A.1, which is [`noise_scale_from_norms`](super::noise_scale_from_norms) for batches of 1 and B.
pub fn gns() -> Gns {
    Gns {
        decay: 0.99.into(),
        leaves: Leaves::All,
        per_leaf: false,
        by_variance: false,
    }
}

impl Gns {
    hyper_setters! {
        /// The decay of both averages.
        decay;
    }

    /// Measures the selected leaves only. With [`per_leaf`](Gns::per_leaf) the metrics of the others are 0.
    #[must_use]
    pub fn leaves(mut self, leaves: Leaves) -> Self {
        self.leaves = leaves;
        self
    }

    /// Measures each leaf on its own: each metric is a number for each leaf.
    #[must_use]
    pub fn per_leaf(mut self) -> Self {
        self.per_leaf = true;
        self
    }

    /// Takes `S` from the norms of the examples, the default.
    #[must_use]
    pub fn by_norms(mut self) -> Self {
        self.by_variance = false;
        self
    }

    /// Takes `S` from the variance of each element.
    #[must_use]
    pub fn by_variance(mut self) -> Self {
        self.by_variance = true;
        self
    }

    /// Averages the estimates of this batch and gives out the averages and their ratio.
    fn average<E: Lasting>(
        &self,
        sq_norm_of_mean: &Value<Aggregated, E>,
        s: &Value<Aggregated, E>,
        cx: &Tracer,
    ) {
        let g2 = sq_norm_of_mean - s / cx.batch_size();
        let decay = cx.hyper("decay", &self.decay, Domain::Decay);
        let fresh = 1.0 - &decay;
        // A NaN would never leave an average again.
        let sound = s.is_finite().and(&g2.is_finite());
        let weight = cx.state("weight", 0.0, |before: Value<Aggregated, E>| {
            sound.select_alike(&(&before * &decay + &fresh), &before)
        });
        let average = |field: &str, x: &Value<Aggregated, E>| {
            let moment = cx.state(field, 0.0, |before: Value<Aggregated, E>| {
                sound.select_alike(&(&before * &decay + x * &fresh), &before)
            });
            moment / &weight
        };
        let (g2, s) = (average("g2_moment", &g2), average("s_moment", s));
        cx.emit("g2", &g2);
        cx.emit("s", &s);
        cx.emit("scale", &s.max(0.0).div_or_zero(g2.max(0.0)));
    }
}

impl<In: ExamplesApart> Transform<In> for Gns {
    type Out = PerExample;

    fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<PerExample> {
        let x = x.apart();
        cx.within(&self.leaves, |cx| {
            let leaf_sq_norm = x.mean().leaf_sq_norm();
            let leaf_s = || x.reduce(Reduction::Variance { ddof: 1 }).sum_elements();
            if self.per_leaf {
                let s = if self.by_variance {
                    leaf_s()
                } else {
                    trace_by_norms(&x.leaf_norm(), &leaf_sq_norm, 1, cx)
                };
                self.average(&leaf_sq_norm, &s, cx);
            } else {
                let sq_norm = leaf_sq_norm.sum_leaves();
                let s = if self.by_variance {
                    leaf_s().sum_leaves()
                } else {
                    trace_by_norms(&x.norm(), &sq_norm, 1, cx)
                };
                self.average(&sq_norm, &s, cx);
            }
        });
        x
    }
}
