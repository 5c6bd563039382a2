//! A made-up language: words with Zipf's frequencies, drawn by a Markov chain whose entropy is known.
//!
//! A first-order table is a matrix `P[last, next]` that keeps the frequencies `z_w ~ 1 / (w + 1)`: positive random numbers are scaled
//! row by row and column by column until the rows and the columns of the joint table both add up to `z` (Sinkhorn and Knopp, 1967).
//! The language of order 2 mixes two such tables, one of the last word and one of that before it (Raftery, 1985), which keeps `z` too:
//!
//! ```text
//! p(next | last, before) = SHARE * P1[last, next] + (1 - SHARE) * P2[before, next]
//! ```
//!
//! So a model that looks at one word only cannot reach the entropy rate: it has to attend.

use crate::random::Random;

/// The share of the last word; the rest is that of the word before it.
const SHARE: f64 = 0.6;

/// How much the tables differ from independent words: the standard deviation of the logarithms of the random numbers.
const CONTRAST: f64 = 2.5;

/// The language.
#[derive(Clone, Debug)]
pub(super) struct Language {
    words: usize,
    /// `[last, next]`, `[before, next]`.
    tables: [Vec<f64>; 2],
}

impl Language {
    pub(super) fn new(words: usize, random: &mut Random) -> Self {
        let frequencies = zipf(words);
        let tables = [0, 1].map(|_| table(&frequencies, random));
        Self { words, tables }
    }

    /// The probability of a word after two others.
    fn probability(&self, before: usize, last: usize, next: usize) -> f64 {
        let row = |table: &[f64], word: usize| table[word * self.words + next];
        SHARE * row(&self.tables[0], last) + (1.0 - SHARE) * row(&self.tables[1], before)
    }

    /// A text of so many words.
    pub(super) fn text(&self, tokens: usize, random: &mut Random) -> Vec<usize> {
        let (mut before, mut last) = (0, 0);
        // The first words are still close to where the chain started.
        let all = (0..tokens + 100).map(|_| {
            let mut left = random.uniform();
            let found = (0..self.words).position(|next| {
                left -= self.probability(before, last, next);
                left < 0.0
            });
            // The probabilities may add up to a rounding less than 1.
            (before, last) = (last, found.unwrap_or(self.words - 1));
            last
        });
        all.skip(100).collect()
    }

    /// The least mean loss that any model can reach on a long text, in nats for each word: `-E log p(next | last, before)`.
    pub(super) fn entropy_rate(&self) -> f64 {
        let n = self.words;
        // The stationary frequencies of pairs, by repeating the chain until nothing moves.
        let z = zipf(n);
        let mut pairs: Vec<f64> = (0..n * n).map(|at| z[at / n] * z[at % n]).collect();
        for _ in 0..200 {
            let mut next = vec![0.0; n * n];
            self.each(|before, last, word, p| {
                next[last * n + word] += pairs[before * n + last] * p;
            });
            let moved: f64 = pairs.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
            pairs = next;
            if moved < 1e-10 {
                break;
            }
        }
        let mut entropy = 0.0;
        self.each(|before, last, _, p| {
            entropy -= pairs[before * n + last] * p * p.max(1e-300).ln();
        });
        entropy
    }

    fn each(&self, mut visit: impl FnMut(usize, usize, usize, f64)) {
        for before in 0..self.words {
            for last in 0..self.words {
                for word in 0..self.words {
                    visit(before, last, word, self.probability(before, last, word));
                }
            }
        }
    }
}

/// Zipf's frequencies, `1 / rank`, adding up to 1.
#[allow(clippy::cast_precision_loss)] // ranks of words
pub(super) fn zipf(words: usize) -> Vec<f64> {
    let parts: Vec<f64> = (0..words).map(|w| 1.0 / (w + 1) as f64).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / sum).collect()
}

/// A random table `[from, to]` of probabilities whose stationary frequencies are these.
fn table(frequencies: &[f64], random: &mut Random) -> Vec<f64> {
    let n = frequencies.len();
    let mut joint: Vec<f64> = (0..n * n)
        .map(|_| (CONTRAST * random.normal()).exp())
        .collect();
    for _ in 0..500 {
        for to in 0..n {
            let sum: f64 = (0..n).map(|from| joint[from * n + to]).sum();
            (0..n).for_each(|from| joint[from * n + to] *= frequencies[to] / sum);
        }
        for (row, frequency) in joint.chunks_mut(n).zip(frequencies) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p *= frequency / sum);
        }
    }
    for (row, frequency) in joint.chunks_mut(n).zip(frequencies) {
        row.iter_mut().for_each(|p| *p /= frequency);
    }
    joint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn words_come_as_often_as_zipf_says_and_cost_the_entropy_rate() {
        let mut random = Random::new(5);
        let language = Language::new(12, &mut random);
        let text = language.text(60_000, &mut random);
        let count = text.len() as f64;
        for (word, expected) in zipf(12).into_iter().enumerate() {
            let share = text.iter().filter(|w| **w == word).count() as f64 / count;
            // Words follow each other, so the error is some times that of independent draws, 0.002.
            assert!(
                (share - expected).abs() < 0.02,
                "{word}: {share}, not {expected}"
            );
        }
        let losses = text
            .windows(3)
            .map(|w| -language.probability(w[0], w[1], w[2]).ln());
        let loss = losses.sum::<f64>() / (count - 2.0);
        let rate = language.entropy_rate();
        assert!((loss - rate).abs() < 0.03, "{loss}, not {rate}");
        let alone: f64 = zipf(12).iter().map(|p| -p * p.ln()).sum();
        assert!(
            rate < 0.9 * alone,
            "the words before tell much: {rate} of {alone}"
        );
    }
}
