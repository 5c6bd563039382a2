//! From Rényi divergences to (ε, δ).

use super::renyi::or_infinite;

/// The ε for a `delta`, of a mechanism whose Rényi divergence of order `order` is `rdp`; never below 0.
///
/// `rdp + ln((a - 1) / a) - (ln delta + ln a) / (a - 1)`. If `delta^2 >= 1 - exp(-rdp)`, then 0 is enough.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | an argument is NaN, `delta` is negative, or `order` not above 1 | infinite |
/// | `delta` 0 and `rdp` above 0, or `rdp` infinite and `delta` below 1 | infinite |
///
/// # Reference
/// Canonne, Kamath and Steinke, 2020, arXiv 2004.00010, proposition 12; Balle et al., 2020, arXiv 1905.09982, theorem 21. The bound
/// for 0 is by Bretagnolle and Huber, 1979.
pub fn epsilon_of_rdp(rdp: f64, order: f64, delta: f64) -> f64 {
    if !make_sense(rdp, order, delta) {
        return f64::INFINITY;
    }
    if delta * delta + (-rdp).exp_m1() >= 0.0 {
        return 0.0;
    }
    let epsilon = rdp + (-1.0 / order).ln_1p() - (delta.ln() + order.ln()) / (order - 1.0);
    or_infinite(epsilon).max(0.0)
}

/// The ε for a `delta` as it was first proved: `rdp + ln(1 / delta) / (a - 1)`, which is larger. For comparison with older results.
/// Infinite if an argument is NaN, `delta` is negative, or `order` not above 1.
///
/// # Reference
/// Mironov, 2017, arXiv 1702.07476, proposition 3.
pub fn epsilon_of_rdp_classic(rdp: f64, order: f64, delta: f64) -> f64 {
    if !make_sense(rdp, order, delta) {
        return f64::INFINITY;
    }
    or_infinite(rdp - delta.ln() / (order - 1.0))
}

/// The δ for an `epsilon`, the inverse of [`epsilon_of_rdp`]; at most 1. It is 1, which promises nothing, if an argument is NaN,
/// `epsilon` is negative, or `order` not above 1.
pub fn delta_of_rdp(rdp: f64, order: f64, epsilon: f64) -> f64 {
    if !make_sense(rdp, order, epsilon) {
        return 1.0;
    }
    let excess = rdp - epsilon + (-1.0 / order).ln_1p();
    let ln_delta = or_infinite((order - 1.0) * excess - order.ln());
    // At epsilon 0, hence at any other.
    let total_variation = (-(-rdp).exp_m1()).sqrt();
    ln_delta.exp().min(total_variation)
}

/// Whether a divergence, its order and the `given` one of ε and δ are no NaN and in their ranges.
fn make_sense(rdp: f64, order: f64, given: f64) -> bool {
    !rdp.is_nan() && order > 1.0 && given >= 0.0
}
