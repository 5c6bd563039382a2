//! Comparing what came with what should come.

use std::collections::BTreeMap;

use pergrad::transforms::Dtype;
use pergrad::transforms::runner::HostTree;

use super::golden::Case;

/// What cases lose in f32 beyond the rule, with all parameters below 2.
const MORE_IN_F32: &[(&str, f64)] = &[
    // Where a step may be skipped, its number is on the device, and so is `1 - 0.999^t`: 1.3e-5 of it are lost, 6.4e-6 of each
    // update and always to the same side, and the updates of an element are up to 0.48 together.
    ("apply_if_finite_adam", 4e-6),
    // Updates that are a difference of parameters: the rounding of these is left, 1.2e-7 for each of a few sums.
    ("cocob", 5e-7),
    ("mechanize_sgd", 5e-7),
];

/// How far a number may be from the one that was computed by the library.
///
/// * f64, and every case that the library itself computed in f32: the tolerances of the case.
/// * f32 against an f64 case: `|got - want| <= 1e-5 |want| + 1e-6 largest`. `largest` is the largest element that is wanted
///   anywhere in the case. In the cases `_mixed`, `_tiny` and `_huge`, whose elements differ by many orders of magnitude, it
///   is the largest one at the same position over the steps, or small elements would not be compared at all.
///   A few cases have [more](MORE_IN_F32).
/// * models: [`of_model`](Self::of_model).
///
/// The looser 1e-4 for decays of 0.999 is not needed: `1 - decay^t` is computed in f64 whatever the dtype, unless t depends on the
/// gradients.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tolerance {
    OfCase { rtol: f64, atol: f64 },
    OfF32 { by_position: bool, more: f64 },
    OfModel { rtol: f64, atol: f64, share: f64 },
}

impl Tolerance {
    pub(crate) fn new(case: &Case, dtype: Dtype) -> Self {
        if dtype == case.dtype || case.dtype == Dtype::F32 {
            return Self::OfCase {
                rtol: case.rtol,
                atol: case.atol,
            };
        }
        let wide = ["_mixed", "_tiny", "_huge"];
        let more = MORE_IN_F32.iter().find(|(name, _)| *name == case.name);
        Self::OfF32 {
            by_position: wide.iter().any(|end| case.name.ends_with(end)),
            more: more.map_or(0.0, |(_, more)| *more),
        }
    }

    /// For models, in f64 that of the case. In f32 their products and sums lose more than a chain does, so elements are held
    /// against the largest of their tensor ([`Scale::by_leaf`]), to 1e-4. Burn's `RmsNorm` computes its root mean square in f32
    /// whatever the dtype, so a model with one is held to 1e-6 of the largest element in f64.
    pub(crate) fn of_model(case: &Case, dtype: Dtype, f32_inside: bool) -> Self {
        let (rtol, atol, share) = match dtype {
            Dtype::F64 if !f32_inside => (case.rtol, case.atol, 0.0),
            Dtype::F64 => (0.0, 0.0, 1e-6),
            _ => (0.0, 0.0, 1e-4),
        };
        Self::OfModel { rtol, atol, share }
    }

    /// The same with another relative tolerance, where it belongs to the case.
    pub(crate) fn with_rtol(self, rtol: Option<f64>) -> Self {
        match (self, rtol) {
            (Self::OfCase { atol, .. }, Some(rtol)) => Self::OfCase { rtol, atol },
            _ => self,
        }
    }

    fn allows(self, got: f64, want: f64, scale: f64) -> bool {
        let (rtol, atol) = match self {
            Self::OfCase { rtol, atol } => (rtol, atol),
            Self::OfF32 { more, .. } => (1e-5, 1e-6 * scale + more),
            Self::OfModel { rtol, atol, share } => (rtol, atol + share * scale),
        };
        // NaN equals NaN, and infinities are equal or not.
        got == want
            || got.is_nan() && want.is_nan()
            || want.is_finite() && (got - want).abs() <= atol + rtol * want.abs()
    }
}

/// For each element the number that the absolute tolerance in f32 is a share of.
#[derive(Debug)]
pub(crate) enum Scale {
    Everywhere(f64),
    ByLeaf(BTreeMap<String, f64>),
    ByPosition(HostTree),
}

impl Scale {
    /// The largest elements of some sets of tensors.
    pub(crate) fn of<'a>(
        tolerance: Tolerance,
        sets: impl IntoIterator<Item = &'a HostTree> + Clone,
    ) -> Self {
        if let Tolerance::OfF32 {
            by_position: true, ..
        } = tolerance
        {
            let mut sets = sets.into_iter();
            let mut largest = sets.next().cloned().unwrap_or_default();
            for tensor in largest.values_mut() {
                tensor.values.iter_mut().for_each(|x| *x = x.abs());
            }
            for set in sets {
                for (path, tensor) in set {
                    let Some(largest) = largest.get_mut(path) else {
                        continue;
                    };
                    for (x, y) in largest.values.iter_mut().zip(&tensor.values) {
                        *x = x.max(y.abs());
                    }
                }
            }
            return Self::ByPosition(largest);
        }
        let tensors = sets.into_iter().flat_map(|set| set.values());
        Self::Everywhere(largest(tensors.flat_map(|t| &t.values)))
    }

    /// The largest element of each tensor, but not less than a hundredth of the largest of all: a tensor whose elements cancel
    /// to zero, such as the gradient of the bias of attention keys, is as exact as what cancels.
    pub(crate) fn by_leaf(set: &HostTree) -> Self {
        let all = largest(set.values().flat_map(|tensor| &tensor.values));
        let leaves = set.iter().map(|(path, tensor)| {
            let scale = largest(&tensor.values).max(all / 100.0);
            (path.clone(), scale)
        });
        Self::ByLeaf(leaves.collect())
    }

    fn at(&self, path: &str, position: usize) -> f64 {
        match self {
            Self::Everywhere(scale) => *scale,
            Self::ByLeaf(scales) => scales.get(path).copied().unwrap_or(0.0),
            Self::ByPosition(tree) => tree
                .get(path)
                .and_then(|tensor| tensor.values.get(position))
                .copied()
                .unwrap_or(0.0),
        }
    }
}

/// The largest absolute value of finite numbers.
pub(crate) fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    let values = values.into_iter().map(|x| x.abs());
    values.filter(|x| x.is_finite()).fold(0.0, f64::max)
}

/// What has been compared so far.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// The largest relative error. An error where 0 is wanted counts relative to the largest number beside it, and every error
    /// of a model relative to the scale of its tensor.
    pub(crate) worst: f64,
    pub(crate) elements: usize,
    /// The first difference.
    pub(crate) failure: Option<String>,
    /// Where it is, if numbers were compared there.
    pub(crate) place: Option<String>,
}

impl Comparison {
    pub(crate) fn fail(&mut self, failure: impl FnOnce() -> String) {
        self.failure.get_or_insert_with(failure);
    }

    /// Compares sets of tensors: the leaves, the shapes and every element.
    pub(crate) fn trees(
        &mut self,
        what: &str,
        got: &HostTree,
        want: &HostTree,
        tolerance: Tolerance,
        scale: &Scale,
    ) {
        if !got.keys().eq(want.keys()) {
            self.fail(|| format!("{what}: the leaves are {:?}", got.keys()));
        }
        for (path, want) in want {
            let Some(got) = got.get(path) else { continue };
            let place = format!("{what} {path}");
            if got.shape != want.shape {
                let shapes = (&got.shape, &want.shape);
                self.fail(|| format!("{place}: shape {:?} instead of {:?}", shapes.0, shapes.1));
                continue;
            }
            let scale = |position| scale.at(path, position);
            self.numbers(&place, &got.values, &want.values, tolerance, scale);
        }
    }

    /// Compares numbers one by one.
    pub(crate) fn numbers(
        &mut self,
        what: &str,
        got: &[f64],
        want: &[f64],
        tolerance: Tolerance,
        scale: impl Fn(usize) -> f64,
    ) {
        if got.len() != want.len() {
            let (got, want) = (got.len(), want.len());
            self.fail(|| format!("{what}: {got} numbers instead of {want}"));
            return;
        }
        let beside = largest(want);
        for (position, (&got, &want)) in got.iter().zip(want).enumerate() {
            self.elements += 1;
            if got == want || got.is_nan() && want.is_nan() {
                continue;
            }
            let size = match tolerance {
                Tolerance::OfModel { .. } => scale(position),
                _ if want == 0.0 => beside,
                _ => want.abs(),
            };
            let error = (got - want).abs() / size;
            self.worst = self
                .worst
                .max(if error.is_nan() { f64::INFINITY } else { error });
            if !tolerance.allows(got, want, scale(position)) {
                if self.failure.is_none() {
                    self.place = Some(format!("{what}[{position}]"));
                }
                self.fail(|| format!("{what}[{position}]: {got:e} instead of {want:e}"));
            }
        }
    }
}
