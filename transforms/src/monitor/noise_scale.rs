//! The noise scale from gradients of two batch sizes, on the host.

use crate::error::Error;

/// Estimates of signal and noise of a gradient. Built by [`noise_scale_from_norms`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseScale {
    /// The squared norm of the true gradient; an estimate, which may be negative.
    pub g2: f64,
    /// The trace of the covariance of one example's gradient.
    pub s: f64,
}

impl NoiseScale {
    /// `S / G^2`, both at least 0: infinite without a signal, and 0 without either.
    pub fn scale(&self) -> f64 {
        // `f64::max` would make a NaN into 0.
        let clamp = |x: f64| if x < 0.0 { 0.0 } else { x };
        match (clamp(self.s), clamp(self.g2)) {
            (0.0, 0.0) => 0.0,
            (s, g2) => s / g2,
        }
    }
}

/// Estimates signal and noise from the squared norms of the mean gradients of two batch sizes.
///
/// ```text
/// G2 = (b_big sq_big - b_small sq_small) / (b_big - b_small)
/// S  = (sq_small - sq_big) / (1 / b_small - 1 / b_big)
/// ```
///
/// The norms are those of the gradients of means, or of losses that are means, such as that of one micro-batch and that of all
/// micro-batches together; where there are several of a size, the mean of their squared norms is taken. Batch sizes may count
/// examples or tokens: the scale is in the same units. The estimates of one step are noisy, so average `g2` and `s` apart over
/// the steps, and take the ratio last.
///
/// [`gns`](super::gns()) is this for batches of 1 and B, which Gray et al., 2024, arXiv 2411.00999, find to be the least noisy.
///
/// # Edge cases
/// | case | result |
/// |--|--|
/// | `g2` at most 0 | [`scale`](NoiseScale::scale) is infinite |
/// | both norms 0 | `scale` is 0 |
/// | norms that do not depend on the batch size | `s` is 0 |
/// | a NaN | NaN |
///
/// # Errors
/// `b_small` must be at least 1, `b_big` greater than `b_small`.
///
/// # Example
/// ```
/// use pergrad_transforms::monitor::noise_scale_from_norms;
/// // The gradients 0, 2, 4, 6: the mean square is 14, the square of the mean 9.
/// let estimates = noise_scale_from_norms(1, 14.0, 4, 9.0).unwrap();
/// assert!((estimates.scale() - 10.0 / 11.0).abs() < 1e-12);
/// ```
///
/// # Reference
/// McCandlish, Kaplan, Amodei, 2018, arXiv 1812.06162, appendix A.1.
#[allow(clippy::cast_precision_loss)] // batch sizes below 2^53
pub fn noise_scale_from_norms(
    b_small: usize,
    sq_small: f64,
    b_big: usize,
    sq_big: f64,
) -> Result<NoiseScale, Error> {
    let wrong = |name: &str, expected: String, got: usize| Error::Hyper {
        name: format!("noise_scale_from_norms.{name}"),
        expected,
        got: got.to_string(),
    };
    if b_small == 0 {
        return Err(wrong("b_small", "at least 1".to_owned(), b_small));
    }
    if b_big <= b_small {
        let expected = format!("greater than `b_small`, {b_small}");
        return Err(wrong("b_big", expected, b_big));
    }
    let (small, big) = (b_small as f64, b_big as f64);
    Ok(NoiseScale {
        g2: (big * sq_big - small * sq_small) / (big - small),
        s: (sq_small - sq_big) / (1.0 / small - 1.0 / big),
    })
}
