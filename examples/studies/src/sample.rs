//! The mean of a sample and how far it may be off; the line through a cloud of points.

/// A sample, by Welford's rule: one number at a time, without cancellation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    count: usize,
    mean: f64,
    squares: f64,
}

impl Sample {
    /// Takes a number in.
    #[allow(clippy::cast_precision_loss)] // counts of a study
    pub fn take(&mut self, x: f64) {
        self.count += 1;
        let off = x - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (x - self.mean);
    }

    /// The mean; 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard error of the mean; infinite for less than two numbers.
    #[allow(clippy::cast_precision_loss)] // counts of a study
    pub fn standard_error(&self) -> f64 {
        if self.count < 2 {
            return f64::INFINITY;
        }
        let n = self.count as f64;
        (self.squares / (n - 1.0) / n).sqrt()
    }

    /// How many standard errors the mean lies from where it should; 0 if it is there.
    pub fn errors_from(&self, expected: f64) -> f64 {
        let off = (self.mean - expected).abs();
        if off == 0.0 {
            return 0.0;
        }
        off / self.standard_error()
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        let mut sample = Self::default();
        numbers.into_iter().for_each(|x| sample.take(x));
        sample
    }
}

/// The line of least squares through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// How much y grows with x.
    pub slope: f64,
    /// The value at x = 0.
    pub intercept: f64,
    /// Pearson's correlation, from -1 to 1; NaN where y is the same everywhere.
    pub correlation: f64,
}

impl Line {
    /// The line through points, leaving out those that are not finite. None for less than two different x.
    #[allow(clippy::cast_precision_loss)] // counts of a study
    pub fn through(points: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let points = points.into_iter();
        let points: Vec<_> = points
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        let n = points.len() as f64;
        let x_mean = points.iter().map(|p| p.0).sum::<f64>() / n;
        let y_mean = points.iter().map(|p| p.1).sum::<f64>() / n;
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (x, y) in points {
            let (x, y) = (x - x_mean, y - y_mean);
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
        (xx > 0.0).then(|| Self {
            slope: xy / xx,
            intercept: y_mean - x_mean * xy / xx,
            correlation: xy / (xx * yy).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_mean_and_its_standard_error() {
        let sample: Sample = [0.0, 2.0, 4.0, 6.0].into_iter().collect();
        assert_eq!(sample.mean(), 3.0);
        // The variance is 20 / 3, so the error of the mean of four is sqrt(5 / 3).
        assert!((sample.standard_error() - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(sample.errors_from(3.0), 0.0);
        assert_eq!(Sample::default().standard_error(), f64::INFINITY);
    }

    #[test]
    fn the_line_through_points_on_a_line_is_that_line() {
        let points = [(1.0, 3.0), (2.0, 5.0), (4.0, 9.0), (f64::NAN, 1.0)];
        let line = Line::through(points).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12 && (line.intercept - 1.0).abs() < 1e-12);
        assert!((line.correlation - 1.0).abs() < 1e-12);
        assert!(Line::through([(1.0, 2.0), (1.0, 3.0)]).is_none());
        assert!(Line::through([]).is_none());
    }
}
