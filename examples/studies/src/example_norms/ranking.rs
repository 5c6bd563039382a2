//! How well a number finds what it should: precision, recall and average precision of the order that it gives.

/// The images in falling order of a score, and which of them were looked for.
#[derive(Clone, Debug)]
pub struct Ranking {
    order: Vec<usize>,
    sought: Vec<bool>,
}

impl Ranking {
    /// The largest score first; NaN above all, and of equal scores the first image.
    ///
    /// # Panics
    /// If there are not as many scores as answers.
    pub fn new(scores: &[f64], sought: &[bool]) -> Self {
        assert_eq!(scores.len(), sought.len(), "one answer for each score");
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].abs().total_cmp(&scores[a].abs()));
        Self {
            sought: order.iter().map(|&at| sought[at]).collect(),
            order,
        }
    }

    /// The images, first to last.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// How many there are to find.
    pub fn sought(&self) -> usize {
        self.found(self.sought.len())
    }

    fn found(&self, k: usize) -> usize {
        self.sought.iter().take(k).filter(|sought| **sought).count()
    }

    /// The share of the first `k` that were looked for. NaN for `k` 0.
    pub fn precision(&self, k: usize) -> f64 {
        ratio(self.found(k), k.min(self.sought.len()))
    }

    /// The share of those looked for that are among the first `k`. NaN where there are none.
    pub fn recall(&self, k: usize) -> f64 {
        ratio(self.found(k), self.sought())
    }

    /// The mean of the precision at each of those looked for: 1 if all of them come first, and about their share in a random order.
    /// NaN where there are none.
    pub fn average_precision(&self) -> f64 {
        let places = (1..=self.sought.len()).filter(|k| self.sought[k - 1]);
        let precisions: Vec<f64> = places.map(|k| self.precision(k)).collect();
        crate::classifier::mean(&precisions)
    }
}

#[allow(clippy::cast_precision_loss)] // counts of images
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_by_hand() {
        let ranking = Ranking::new(&[0.5, 9.0, 2.0, 3.0], &[false, true, true, false]);
        assert_eq!(ranking.order(), [1, 3, 2, 0]);
        assert_eq!((ranking.precision(1), ranking.precision(2)), (1.0, 0.5));
        assert_eq!((ranking.recall(1), ranking.recall(3)), (0.5, 1.0));
        assert_eq!(ranking.average_precision(), f64::midpoint(1.0, 2.0 / 3.0));
    }

    #[test]
    fn nothing_to_find_has_no_precision() {
        let ranking = Ranking::new(&[1.0, 2.0], &[false, false]);
        assert!(ranking.average_precision().is_nan() && ranking.recall(1).is_nan());
        assert_eq!(ranking.precision(5), 0.0);
    }
}
