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
/// | `sigma` below 0.05 | for an order that is not whole, that of the next whole one, which is larger |
///
/// # Errors
/// `sigma` must not be negative, `rate` be from 0 to 1, and `order` finite and above 1.
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
    let is_order = order > 1.0 && order.is_finite();
    require(is_order, "order", "a finite number above 1", order)?;
    if rate == 0.0 || sigma == f64::INFINITY {
        return Ok(0.0);
    }
    if sigma == 0.0 {
        return Ok(f64::INFINITY);
    }
    if rate == 1.0 {
        return Ok(order / (2.0 * sigma * sigma));
    }
    if order.fract() != 0.0 && sigma < LEAST_SIGMA {
        // Divergences grow with the order.
        return rdp_subsampled_gaussian(sigma, rate, order.ceil());
    }
    let ln_moment = if order.fract() == 0.0 {
        ln_whole_moment(sigma, rate, order)
    } else {
        ln_moment(sigma, rate, order)
    };
    // Divergences are not negative; rounding may be.
    Ok((ln_moment / (order - 1.0)).max(0.0))
}

/// `ln sum_k C(a, k) (1 - q)^(a - k) q^k exp((k^2 - k) / (2 s^2))`.
fn ln_whole_moment(sigma: f64, rate: f64, order: f64) -> f64 {
    let (ln_q, ln_rest) = (rate.ln(), (-rate).ln_1p());
    let (mut sum, mut ln_binomial, mut k) = (f64::NEG_INFINITY, 0.0, 0.0);
    while k <= order {
        let gauss = (k * k - k) / (2.0 * sigma * sigma);
        sum = ln_add(sum, ln_binomial + k * ln_q + (order - k) * ln_rest + gauss);
        ln_binomial += (order - k).ln() - (k + 1.0).ln();
        k += 1.0;
    }
    sum
}

/// Below this the number of nodes would grow without end, for divergences above 200 that no budget has room for.
const LEAST_SIGMA: f64 = 0.05;

/// `ln E ((1 - q) + q exp((2 s t - 1) / (2 s^2)))^a` for a standard normal `t`, by the trapezoidal rule.
///
/// The integrand is analytic in a strip of half-width `pi s`, so the error falls as `exp(-2 pi^2 s / h)`: with `h = 0.5 s` it is
/// below 1e-17. What is beyond 12 standard deviations of the two humps, at 0 and at `a / s`, is below 1e-31.
fn ln_moment(sigma: f64, rate: f64, order: f64) -> f64 {
    let step = (0.5 * sigma).min(0.25);
    let (ln_q, ln_rest) = (rate.ln(), (-rate).ln_1p());
    let ln_integrand = |t: f64| {
        let ratio = (2.0 * sigma * t - 1.0) / (2.0 * sigma * sigma);
        order * ln_add(ln_rest, ln_q + ratio) - 0.5 * t * t
    };
    let (mut sum, mut t) = (f64::NEG_INFINITY, -12.0);
    while t <= order / sigma + 12.0 {
        sum = ln_add(sum, ln_integrand(t));
        t += step;
    }
    sum + (step / std::f64::consts::TAU.sqrt()).ln()
}

/// `ln(e^x + e^y)`.
fn ln_add(x: f64, y: f64) -> f64 {
    let (small, large) = (x.min(y), x.max(y));
    if small == f64::NEG_INFINITY {
        return large;
    }
    large + (small - large).exp().ln_1p()
}
