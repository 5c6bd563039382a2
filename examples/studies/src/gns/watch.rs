//! Several noise scales in one chain: of all layers, and of each type of layer.

use std::borrow::Cow;

use pergrad::prelude::*;

/// The layers whose noise scales are watched, and their names in metrics.
pub const GROUPS: [&str; 6] = ["all", "norm", "attention", "mlp", "embedding", "output"];

/// The leaves of a group. The paths are those of [`Transformer`](crate::transformer::Transformer).
fn leaves(group: &str) -> Leaves {
    match group {
        "norm" => Leaves::matching("*norm.*"),
        "attention" => Leaves::matching("*.attention.*"),
        "mlp" => Leaves::matching("*.forward.*"),
        "embedding" => Leaves::AnyOf(vec![
            Leaves::matching("tokens.*"),
            Leaves::matching("positions.*"),
        ]),
        "output" => Leaves::matching("output.*"),
        _ => Leaves::All,
    }
}

/// Passes the gradients on through one [`monitor::gns`] for each group and each decay. Their metrics are `all_0.scale`, where 0 is the
/// place of the decay in its list.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The groups, of [`GROUPS`].
    pub groups: Vec<&'static str>,
    /// The decays.
    pub decays: Vec<f64>,
}

impl Watch {
    /// All groups.
    pub fn all(decays: &[f64]) -> Self {
        Self {
            groups: GROUPS.to_vec(),
            decays: decays.to_vec(),
        }
    }

    /// One group.
    pub fn one(group: &'static str, decay: f64) -> Self {
        Self {
            groups: vec![group],
            decays: vec![decay],
        }
    }
}

impl Transform<PerExample> for Watch {
    type Out = PerExample;

    fn trace(&self, mut x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        for (at, &decay) in self.decays.iter().enumerate() {
            for group in &self.groups {
                let gns = monitor::gns().leaves(leaves(group)).decay(decay);
                x = cx.apply(&gns.named(format!("{group}_{at}")), x);
            }
        }
        x
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }
}
