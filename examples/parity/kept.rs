//! What the library counts and keeps beside its updates, and where we keep it.

use pergrad::transforms::State;
use pergrad::transforms::runner::{HostTensor, HostTree};
use serde_json::Value;

use super::compare::{Comparison, Scale, Tolerance};
use super::golden::{number, tree};

/// Counters of the library and our slots.
const COUNTERS: &[(&str, &str)] = &[
    ("mini_step", "accumulate.mini_step"),
    ("gradient_step", "accumulate.gradient_step"),
    ("notfinite_count", "apply_if_finite.consecutive"),
    ("total_notfinite", "apply_if_finite.total"),
];

const SLOW: &str = "lookahead.slow";

/// Whether an extra of the case is compared.
pub(crate) fn checks(extra: &str) -> bool {
    let counter = COUNTERS.iter().any(|(name, _)| *name == extra);
    counter || extra == "last_finite" || extra == "slow_updates"
}

/// A step as it was taken.
pub(crate) struct Taken<'a> {
    pub(crate) step: usize,
    pub(crate) before: &'a State,
    pub(crate) after: &'a State,
    /// The parameters before it.
    pub(crate) params: &'a HostTree,
}

impl Taken<'_> {
    /// Compares one extra with what the step left.
    pub(crate) fn compare(
        &self,
        extra: &str,
        want: &Value,
        tolerance: Tolerance,
        comparison: &mut Comparison,
    ) -> Result<(), String> {
        let what = format!("{extra} {}", self.step);
        let mut same = |got: f64, want: f64| {
            comparison.numbers(&what, &[got], &[want], tolerance, |_| 0.0);
        };
        let counter = COUNTERS.iter().find(|(name, _)| *name == extra);
        match (extra, counter) {
            (_, Some((_, slot))) => same(slot_of(self.after, slot, None)?[0], number(want)?),
            ("last_finite", _) => {
                let consecutive = slot_of(self.after, "apply_if_finite.consecutive", None)?[0];
                let want = want.as_bool().ok_or("last_finite is not true or false")?;
                same(f64::from(consecutive == 0.0), f64::from(want));
            }
            ("slow_updates", _) => {
                let scale = Scale::of(tolerance, [self.params]);
                let want = tree(want)?;
                comparison.trees(&what, &self.slow(&want)?, &want, tolerance, &scale);
            }
            _ => {}
        }
        Ok(())
    }

    /// The updates of the slow parameters of `lookahead`.
    fn slow(&self, like: &HostTree) -> Result<HostTree, String> {
        let leaves = like.iter().map(|(path, like)| {
            let before = match self.step {
                0 => self.params[path].values.clone(),
                _ => slot_of(self.before, SLOW, Some(path))?,
            };
            let after = slot_of(self.after, SLOW, Some(path))?;
            let updates = after
                .iter()
                .zip(before)
                .map(|(after, before)| after - before);
            let updates = HostTensor::new(like.shape.clone(), updates.collect::<Vec<_>>());
            Ok((path.clone(), updates))
        });
        leaves.collect()
    }
}

fn slot_of(state: &State, slot: &str, path: Option<&str>) -> Result<Vec<f64>, String> {
    let found = state
        .get(slot, path)
        .ok_or_else(|| format!("there is no {slot}"))?;
    Ok(found.values.iter().map(|x| x.0).collect())
}
