//! The Rényi divergence of the Poisson-subsampled Gaussian mechanism.

use super::require;
use crate::error::Error;

/// The Rényi divergence of order `order` of one step: a sum of noise multiplier `sigma`, of batches in which each example is with
/// probability `rate`.
///
/// It is that of the mixture `(1 - q) N(0, s^2) + q N(1, s^2)` from `N(0, s^2)`, which is the larger of the two directions.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `rate` 0 | 0 |
/// | `rate` 1 | `order / (2 sigma^2)` |
/// | `sigma` 0 | infinite, unless `rate` is 0 |
/// | `sigma` infinite | 0 |
/// | `sigma` finite, `rate` above 0 | above 0, however small: what is too small for a number is rounded up |
/// | `sigma` above 1e150 | that of 1e150, which is larger |
/// | what is too large for a number | infinite |
/// | `sigma` below 0.05, or `order` above 1024 | for an order that is not whole, that of the next whole one, which is larger |
///
/// # Errors
/// `sigma` must not be negative, `rate` be from 0 to 1, and `order` above 1 and at most 1e6.
///
/// # Example
/// ```
/// use pergrad_transforms::privacy::rdp_subsampled_gaussian;
/// assert_eq!(rdp_subsampled_gaussian(2.0, 1.0, 8.0).unwrap(), 1.0);
/// ```
///
/// # Reference
/// Mironov, Talwar and Zhang, 2019, arXiv 1908.10530, section 3.3 for whole orders, which have a finite sum. For others they have a
/// series that converges slowly where `rate` is large; here the integral itself is taken.
pub fn rdp_subsampled_gaussian(sigma: f64, rate: f64, order: f64) -> Result<f64, Error> {
    require(
        sigma >= 0.0,
        "sigma",
        "a number that is not negative",
        sigma,
    )?;
    let is_share = (0.0..=1.0).contains(&rate);
    require(is_share, "rate", "a number from 0 to 1", rate)?;
    let expected = "a number above 1 and at most 1000000";
    require(is_order(order), "order", expected, order)?;
    if rate == 0.0 || sigma == f64::INFINITY {
        return Ok(0.0);
    }
    if sigma == 0.0 {
        return Ok(f64::INFINITY);
    }
    // Divergences fall with the noise; the square of more would overflow.
    let sigma = sigma.min(1e150);
    if rate == 1.0 {
        return Ok(order / (2.0 * sigma * sigma));
    }
    // Divergences grow with the order.
    let is_costly = sigma < LEAST_SIGMA || order > GREATEST_FRACTIONAL;
    let order = if is_costly { order.ceil() } else { order };
    let ln_excess = if order.fract() == 0.0 {
        ln_whole_excess(sigma, rate, order)
    } else {
        ln_excess(sigma, rate, order)
    };
    let rdp = ln_add(0.0, ln_excess) / (order - 1.0);
    Ok(or_infinite(rdp).max(f64::MIN_POSITIVE))
}

/// Whether there is a divergence of this order. The work grows with it, so there is a greatest.
pub(super) fn is_order(order: f64) -> bool {
    order > 1.0 && order <= 1e6
}

/// A number, or infinity in the place of NaN: what is not known is not private.
pub(super) fn or_infinite(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x }
}

/// The logarithm of the moment less 1, `sum_{k >= 2} C(a, k) (1 - q)^(a - k) q^k (exp((k^2 - k) / (2 s^2)) - 1)`: with `exp - 1` in
/// the place of `exp` the terms of 0 and 1 are gone, and of the others the sum is less by 1.
fn ln_whole_excess(sigma: f64, rate: f64, order: f64) -> f64 {
    let (ln_q, ln_rest) = (rate.ln(), (-rate).ln_1p());
    let (mut terms, mut ln_binomial, mut k) = (Vec::new(), 0.0, 0.0);
    while k <= order {
        if k >= 2.0 {
            let gauss = (k * k - k) / (2.0 * sigma * sigma);
            terms.push(ln_binomial + k * ln_q + (order - k) * ln_rest + ln_exp_m1(gauss));
        }
        ln_binomial += (order - k).ln() - (k + 1.0).ln();
        k += 1.0;
    }
    ln_sum(&terms)
}

/// Below this the number of nodes would grow without end, for divergences above 200 that no budget has room for.
const LEAST_SIGMA: f64 = 0.05;

/// Above this too, and the next whole order is less than a thousandth away.
const GREATEST_FRACTIONAL: f64 = 1024.0;

/// The logarithm of the moment less 1, `E ((1 + y)^a - 1 - a y)` with `y = q (exp((2 s t - 1) / (2 s^2)) - 1)`, whose mean is 0, for
/// a standard normal `t`, by the trapezoidal rule. The integrand is not negative.
///
/// It is analytic in a strip of half-width `pi s`, so the error falls as `exp(-2 pi^2 s / h)`: with `h = 0.5 s` it is below 1e-17.
/// It grows with `y` as a power between 2 and `a`, so its humps lie from 0 to the greater of `2 / s` and `a / s`; what is beyond 12
/// standard deviations of them is below 1e-28.
fn ln_excess(sigma: f64, rate: f64, order: f64) -> f64 {
    let step = (0.5 * sigma).min(0.25);
    let (ln_q, ln_rest) = (rate.ln(), (-rate).ln_1p());
    let end = order.max(2.0) / sigma + 12.0;
    let (mut terms, mut t) = (Vec::new(), -12.0);
    while t <= end {
        let ratio = (2.0 * sigma * t - 1.0) / (2.0 * sigma * sigma);
        let y = if ratio < 1.0 {
            rate * ratio.exp_m1()
        } else {
            (ln_q + ratio).exp() - rate
        };
        let ln_value = if y.abs() <= 0.5 {
            ln_convex(y, y.ln_1p(), order)
        } else {
            ln_convex(y, ln_add(ln_rest, ln_q + ratio), order)
        };
        terms.push(ln_value - 0.5 * t * t);
        t += step;
    }
    ln_sum(&terms) + (step / std::f64::consts::TAU.sqrt()).ln()
}

/// `ln((1 + y)^a - 1 - a y)`, where `l = ln(1 + y)`.
fn ln_convex(y: f64, l: f64, order: f64) -> f64 {
    let less = order - 1.0;
    if y.abs() <= 0.5 && order * y.abs() <= 2.0 {
        // The series of binomials from y^2 on, over its first term.
        let (mut sum, mut term, mut k) = (1.0, 1.0_f64, 2.0);
        while term.abs() > 1e-17 {
            term *= (order - k) / (k + 1.0) * y;
            sum += term;
            k += 1.0;
        }
        return 2.0 * y.abs().ln() + (0.5 * order * less * sum).ln();
    }
    if less * l > 50.0 {
        // The power is nearly all, and may be too large for a number.
        let rest = less * (-order * l).exp() - order * (-less * l).exp();
        return order * l + rest.ln_1p();
    }
    // (1 + y) ((1 + y)^(a - 1) - 1) - (a - 1) y
    (l.exp() * (less * l).exp_m1() - less * y).ln()
}

/// `ln(e^x - 1)` of an `x` above 0.
fn ln_exp_m1(x: f64) -> f64 {
    if x > 1.0 {
        x + (-(-x).exp()).ln_1p()
    } else {
        x.exp_m1().ln()
    }
}

/// `ln(e^x + e^y)`; infinite for NaN.
fn ln_add(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::INFINITY;
    }
    let (small, large) = (x.min(y), x.max(y));
    if small == f64::NEG_INFINITY || large == f64::INFINITY {
        return large;
    }
    large + (small - large).exp().ln_1p()
}

/// The logarithm of the sum of the exponentials; infinite for NaN.
fn ln_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().map(or_infinite);
    let largest = largest.fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    let sum: f64 = terms.iter().map(|x| (x - largest).exp()).sum();
    largest + sum.ln()
}
