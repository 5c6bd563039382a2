//! A small seeded generator: the same numbers on every machine, whatever other threads do.
//!
//! burn's own seed is one for the whole process, so that tests that run side by side would disturb each other.

/// The generator SplitMix64 of Steele, Lea and Flood, 2014.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    /// The normal number that the last pair has left.
    spare: Option<f64>,
}

impl Random {
    /// A generator that always gives the same numbers for a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed,
            spare: None,
        }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to below 1, in steps of 2^-53.
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `n`, each alike; 0 for `n` 0.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // positions of a study
    pub fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n.saturating_sub(1))
    }

    /// A standard normal number, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // 1 - u is never 0, so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_normals_have_their_moments() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..20_000).map(|_| random.normal()).collect::<Vec<f64>>()
        };
        assert_eq!(draw(1), draw(1));
        let normals = draw(1);
        let mean = normals.iter().sum::<f64>() / 20_000.0;
        let square = normals.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        // Four standard errors: 1 / sqrt(N) and sqrt(2 / N).
        assert!(mean.abs() < 0.029, "{mean}");
        assert!((square - 1.0).abs() < 0.04, "{square}");
    }

    #[test]
    fn numbers_below_n_are_below_n() {
        let mut random = Random::new(3);
        assert!((0..1000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(0), 0);
    }
}
