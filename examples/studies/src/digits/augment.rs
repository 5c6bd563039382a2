//! The same image, a little different.

use serde::Serialize;

use crate::random::Random;

/// How much an image is changed each time that it is shown.
#[derive(Clone, Copy, Debug, PartialEq, clap::Args, Serialize)]
pub struct Augment {
    /// By how many pixels an image is moved at most, to each side; what moves in is empty
    #[arg(long, default_value_t = 1)]
    pub shift: usize,
    /// The standard deviation of the noise on each pixel; a full one is 1
    #[arg(long, default_value_t = 0.1)]
    pub noise: f64,
}

impl Augment {
    #[allow(clippy::cast_possible_truncation)] // f32 is what the network computes with
    pub(super) fn append(
        self,
        image: &[f32],
        side: usize,
        random: &mut Random,
        pixels: &mut Vec<f32>,
    ) {
        let [down, right] = [(); 2].map(|()| random.below(2 * self.shift + 1));
        let pixel = |row: usize, column: usize| {
            let row = (row + self.shift).checked_sub(down)?;
            let column = (column + self.shift).checked_sub(right)?;
            (row < side && column < side).then(|| image[row * side + column])
        };
        for at in 0..side * side {
            let clean = pixel(at / side, at % side).unwrap_or(0.0);
            pixels.push(clean + (self.noise * random.normal()) as f32);
        }
    }
}
