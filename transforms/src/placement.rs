//! Where a sign is best placed: the signal-to-noise ratio of an update, predicted from that of single gradients.
//!
//! A coordinate of the gradient has mean `mu` and variance `sigma^2` over the examples, and the ratio `r = |mu| / sigma`. A mean over
//! B examples gains `sqrt(B)`, a moving average [`ema_gain`]; a sign makes of a ratio `s` that of [`snr_after_sign`], if what comes
//! in is normal. It loses for `s` below [`CROSSING`] and gains above, so that the three places of a sign differ:
//!
//! | chain | ratio of its update |
//! |--|--|
//! | `sign, mean, ema` ([`micro_sign_sgd`](crate::micro_sign_sgd())) | `snr_after_sign(r) * sqrt(B) * ema_gain` |
//! | `mean, sign, ema` ([`sign_sgd`](crate::sign_sgd())) | `snr_after_sign(r * sqrt(B)) * ema_gain` |
//! | `mean, ema, sign` ([`sign_ema`](crate::sign_ema())) | `snr_after_sign(r * sqrt(B) * ema_gain)` |
//! | `mean, ema` | `r * sqrt(B) * ema_gain` |
//!
//! In one coordinate each is at most the next, for the first three. Over a whole model it need not be so, see
//! [`PlacementPrediction::whole`].
//!
//! # Reference
//! Roulet, Agarwala, 2025, arXiv 2510.00236, find the sign as late as possible the best; the formulas are derived here from the
//! normal distribution.

use crate::error::Error;
use crate::hyper::Domain;

/// The ratio that a sign neither lowers nor raises: `snr_after_sign(CROSSING) == CROSSING`.
pub const CROSSING: f64 = 1.187_040_474_831_222;

/// The error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to `x`.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// The signal-to-noise ratio of the sign of a normal variable whose own is `s`: `e / sqrt(1 - e^2)` with `e = erf(s / sqrt(2))`.
///
/// | `s` | result |
/// |--|--|
/// | 0 | 0 |
/// | small | `s * sqrt(2 / pi)` |
/// | above 39, infinite | infinite: the sign is the same each time |
/// | negative | the negative of that of `-s` |
/// | NaN | NaN |
pub fn snr_after_sign(s: f64) -> f64 {
    let x = s / std::f64::consts::SQRT_2;
    // 1 - erf^2 has no digit left for s > 8, where erf rounds to 1.
    let noise = libm::erfc(x.abs()) * (1.0 + libm::erf(x.abs()));
    libm::erf(x) / noise.sqrt()
}

/// What a stationary moving average of independent steps gains in signal-to-noise ratio, `sqrt((1 + beta) / (1 - beta))`: 4.3589 at
/// 0.9. Infinite at 1, NaN above.
pub fn ema_gain(beta: f64) -> f64 {
    ((1.0 + beta) / (1.0 - beta)).sqrt()
}

/// Where the sign of an update is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignPlacement {
    /// Of each example: `sign, mean, ema`.
    MicroSign,
    /// Of their mean: `mean, sign, ema`.
    Sign,
    /// Of the moving average: `mean, ema, sign`.
    SignEma,
    /// Nowhere: `mean, ema`.
    NoSign,
}

/// The signal-to-noise ratios of an update for the places of a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacementSnr {
    /// Of `sign, mean, ema`.
    pub micro_sign: f64,
    /// Of `mean, sign, ema`.
    pub sign: f64,
    /// Of `mean, ema, sign`.
    pub sign_ema: f64,
    /// Of `mean, ema`.
    pub no_sign: f64,
}

impl PlacementSnr {
    /// The ratios for a coordinate in which single gradients have the ratio `r`, batches of `batch` examples, and a moving average
    /// that forgets by `beta`.
    ///
    /// # Example
    /// ```
    /// use pergrad_transforms::placement::PlacementSnr;
    /// let snr = PlacementSnr::new(0.05, 64, 0.9);
    /// assert!((snr.micro_sign - 1.3917).abs() < 5e-5);
    /// assert!((snr.sign - 1.4256).abs() < 5e-5);
    /// assert!((snr.sign_ema - 2.3271).abs() < 5e-5);
    /// assert!((snr.no_sign - 1.7436).abs() < 5e-5);
    /// ```
    pub fn new(r: f64, batch: usize, beta: f64) -> Self {
        let (root, gain) = (root(batch), ema_gain(beta));
        Self {
            micro_sign: snr_after_sign(r) * root * gain,
            sign: snr_after_sign(r * root) * gain,
            sign_ema: snr_after_sign(r * root * gain),
            no_sign: r * root * gain,
        }
    }

    /// The places, that of the largest ratio first; of equal ones the later sign. NaN is last.
    pub fn order(&self) -> [SignPlacement; 4] {
        let mut places = [
            (self.no_sign, SignPlacement::NoSign),
            (self.sign_ema, SignPlacement::SignEma),
            (self.sign, SignPlacement::Sign),
            (self.micro_sign, SignPlacement::MicroSign),
        ];
        let key = |x: f64| if x.is_nan() { f64::NEG_INFINITY } else { x };
        places.sort_by(|(a, _), (b, _)| key(*b).total_cmp(&key(*a)));
        places.map(|(_, place)| place)
    }
}

/// What is predicted for all coordinates of a leaf or a model. Made by [`predict_placement`].
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementPrediction {
    /// How many coordinates have a ratio.
    pub coordinates: usize,
    /// How many have none, because their mean and variance are 0, as in rows of an embedding that no example used.
    pub silent: usize,
    /// The ratios of single gradients, in rising order; those that are infinite are last.
    snr: Vec<f64>,
    /// The ratios of the update in the median coordinate. Each is a rising function of that of single gradients, so they are the
    /// medians of the four distributions too. A mean would be infinite as soon as one coordinate has no noise.
    pub typical: PlacementSnr,
    /// The ratio of the update as one vector, `||E u|| / sqrt(E ||u - E u||^2)`: the root of the ratio of what all coordinates have of
    /// signal and of noise. It is what can be measured of whole updates, and finite where only some coordinates have no noise.
    ///
    /// Here an earlier sign can be the better one: where few coordinates have a signal, the late sign gives the others their full
    /// noise of 1, and that of single examples averages it away.
    pub whole: PlacementSnr,
}

impl PlacementPrediction {
    /// The ratio of single gradients below which this share of the coordinates is, by linear interpolation: 0.5 is the median.
    /// NaN where no coordinate has a ratio, or for a share outside 0 to 1.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // a position between 0 and the length
    pub fn quantile(&self, share: f64) -> f64 {
        if self.snr.is_empty() || !(0.0..=1.0).contains(&share) {
            return f64::NAN;
        }
        let at = share * (self.snr.len() - 1) as f64;
        let (low, high) = (self.snr[at.floor() as usize], self.snr[at.ceil() as usize]);
        if low == high {
            return low; // both may be infinite
        }
        low + (high - low) * at.fract()
    }
}

/// Predicts the signal-to-noise ratio of an update for each place of a sign, from the mean and the variance of each coordinate of single
/// gradients, as [`coordinate_statistics`](crate::coordinate_statistics()) measures them.
///
/// The mean is that of few examples and has noise of its own: `mean^2` is `variance / B` too large on average, so that a measured
/// ratio is hardly below `1 / sqrt(B)`. Average both over some batches first.
///
/// # Edge cases
/// | mean | variance | result |
/// |--|--|--|
/// | 0 | above 0 | the ratio 0 |
/// | not 0 | 0 | an infinite ratio: signal without noise |
/// | 0 | 0 | no ratio: the coordinate is silent, and left out |
/// | all silent, or none given | | NaN |
///
/// # Errors
/// A mean that is NaN or infinite, a variance that is NaN, infinite or negative, other counts of the two, `batch` 0, and a `beta` that
/// is not at least 0 and below 1.
///
/// # Example
/// ```
/// use pergrad_transforms::placement::{SignPlacement, predict_placement};
/// let prediction = predict_placement(&[0.1, -0.05, 0.02], &[1.0, 1.0, 4.0], 64, 0.9).unwrap();
/// assert_eq!(prediction.quantile(0.5), 0.05);
/// assert_eq!(prediction.typical.order()[0], SignPlacement::SignEma);
/// ```
pub fn predict_placement(
    mean: &[f64],
    variance: &[f64],
    batch: usize,
    beta: f64,
) -> Result<PlacementPrediction, Error> {
    Domain::Decay.check("predict_placement.beta", beta)?;
    if batch == 0 {
        return Err(Error::Number {
            name: "batch".to_owned(),
            expected: "at least 1".to_owned(),
            got: "0".to_owned(),
        });
    }
    Error::check_length("variance", mean.len(), variance.len())?;
    for (at, (mean, variance)) in mean.iter().zip(variance).enumerate() {
        Error::check_number("mean", at, *mean, "finite", mean.is_finite())?;
        let fits = variance.is_finite() && *variance >= 0.0;
        Error::check_number("variance", at, *variance, "finite and not negative", fits)?;
    }

    let pairs = mean.iter().zip(variance);
    let audible = pairs.filter(|(mean, variance)| **mean != 0.0 || **variance != 0.0);
    let (mut snr, mut whole) = (Vec::new(), Energies::default());
    for (&mean, &variance) in audible {
        let r = mean.abs() / variance.sqrt();
        snr.push(r);
        whole.add(mean, variance, r, batch, beta);
    }
    snr.sort_by(f64::total_cmp);
    let mut prediction = PlacementPrediction {
        coordinates: snr.len(),
        silent: mean.len() - snr.len(),
        snr,
        typical: PlacementSnr::new(f64::NAN, batch, beta),
        whole: whole.ratios(batch, beta),
    };
    prediction.typical = PlacementSnr::new(prediction.quantile(0.5), batch, beta);
    Ok(prediction)
}

/// Signal and noise, summed over coordinates, before what is averaged afterwards.
#[derive(Default)]
struct Energies {
    micro_sign: Energy,
    sign: Energy,
    sign_ema: Energy,
    no_sign: Energy,
}

#[derive(Default)]
struct Energy {
    signal: f64,
    noise: f64,
}

impl Energy {
    /// Of a sign of what has the ratio `s`: its mean is an error function, and its square is 1.
    fn add_sign(&mut self, s: f64) {
        let x = s / std::f64::consts::SQRT_2;
        self.signal += libm::erf(x).powi(2);
        self.noise += libm::erfc(x) * (1.0 + libm::erf(x));
    }

    fn ratio(&self) -> f64 {
        (self.signal / self.noise).sqrt()
    }
}

impl Energies {
    fn add(&mut self, mean: f64, variance: f64, r: f64, batch: usize, beta: f64) {
        self.micro_sign.add_sign(r);
        self.sign.add_sign(r * root(batch));
        self.sign_ema.add_sign(r * root(batch) * ema_gain(beta));
        self.no_sign.signal += mean * mean;
        self.no_sign.noise += variance;
    }

    fn ratios(&self, batch: usize, beta: f64) -> PlacementSnr {
        let (root, gain) = (root(batch), ema_gain(beta));
        PlacementSnr {
            micro_sign: self.micro_sign.ratio() * root * gain,
            sign: self.sign.ratio() * gain,
            sign_ema: self.sign_ema.ratio(),
            no_sign: self.no_sign.ratio() * root * gain,
        }
    }
}

#[allow(clippy::cast_precision_loss)] // no batch has 2^53 examples
fn root(batch: usize) -> f64 {
    (batch as f64).sqrt()
}
