//! Examples whose gradients are much larger than those of the others.

/// An example whose norm is far above the others. Found by [`outliers`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Its position.
    pub index: usize,
    /// Its norm.
    pub norm: f64,
    /// How far the norm is above the median, in units of [`MAD_OF_NORMAL`] times the median deviation from it: for normal norms, in
    /// standard deviations.
    pub ratio: f64,
}

/// The standard deviation of a normal variable over the median of its absolute deviations from the median.
pub const MAD_OF_NORMAL: f64 = 1.482_602_218_505_602;

/// Lists the norms that are more than `k` robust standard deviations above the median, the largest first; 3.5 is a common `k`.
///
/// Median and median deviation stay where they are when up to half of the norms are anything, so that many large norms do not hide
/// each other, as they do beside a mean and a standard deviation. Small norms are not listed: none up to the median, whatever `k` is.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | no norms | no outlier |
/// | more than half of the norms equal | each above them is an outlier, of an infinite ratio |
/// | a norm that is NaN or infinite | an outlier of an infinite ratio, listed first, and not counted for the median |
/// | `k` negative or NaN | as 0: every norm above the median |
/// | `k` infinite | no outlier |
///
/// # Example
/// ```
/// use pergrad_transforms::outliers::outliers;
/// let found = outliers(&[1.0, 1.2, 0.9, 50.0, 1.1], 3.5);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].index, 3);
/// ```
///
/// # Reference
/// Leys, Ley, Klein, Bernard, Licata, 2013, on the median absolute deviation; Iglewicz and Hoaglin, 1993, on 3.5.
pub fn outliers(norms: &[f64], k: f64) -> Vec<Outlier> {
    // Of a NaN too, this is 0.
    let k = k.max(0.0);
    let finite: Vec<f64> = norms.iter().copied().filter(|n| n.is_finite()).collect();
    let middle = median(finite.clone());
    let deviation = MAD_OF_NORMAL * median(finite.iter().map(|n| (n - middle).abs()).collect());
    let ratio = |norm: f64| match norm - middle {
        _ if !norm.is_finite() => f64::INFINITY,
        0.0 => 0.0,
        above => above / deviation,
    };
    let all = norms.iter().enumerate().map(|(index, &norm)| Outlier {
        index,
        norm,
        ratio: ratio(norm),
    });
    let mut found: Vec<Outlier> = all.filter(|outlier| outlier.ratio > k).collect();
    // By the norm where the ratio is infinite; NaN is above infinity.
    let size = |outlier: &Outlier| outlier.norm.abs();
    found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    found
}

/// The middle value, or the mean of the two middle ones; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match (values.len(), values.len() % 2) {
        (0, _) => 0.0,
        (_, 1) => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}
