//! How far two results may be apart, for each element type, and why.

use pergrad_transforms::reference::Element;

/// The element types of the reference with the distance they are allowed.
pub(crate) trait Tolerated: Element {
    /// Relative to the largest magnitude of the expected values. The tests do sums of at most 33 terms, a root, a division
    /// and a few products: about 50 roundings, which is 50 * 2^-24 = 3e-6 in f32 and 50 * 2^-53 = 6e-15 in f64.
    /// Differences of nearly equal numbers, as in a variance, lose another digit.
    const RELATIVE: f64;
}

impl Tolerated for f32 {
    const RELATIVE: f64 = 1e-5;
}

impl Tolerated for f64 {
    const RELATIVE: f64 = 1e-13;
}

/// Asserts that two rows of numbers agree in `T`; NaN and infinities must stand at the same places.
#[track_caller]
pub(crate) fn assert_close<T: Tolerated>(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: another length");
    let finite = expected.iter().filter(|x| x.is_finite());
    let bound = T::RELATIVE * finite.fold(0.0_f64, |m, x| m.max(x.abs()));
    for (g, e) in got.iter().zip(expected) {
        let same = g == e || (g.is_nan() && e.is_nan()) || (g - e).abs() <= bound;
        assert!(
            same,
            "{what}: {got:?} is not {expected:?} within {bound:e} ({})",
            std::any::type_name::<T>()
        );
    }
}
