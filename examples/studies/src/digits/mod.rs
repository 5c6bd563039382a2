//! Small grey images with a class each: the 8x8 digits that smartcore ships, or a file of your own.
//!
//! Everything is drawn from a seed: which images are for training, which labels are wrong, and how a batch is moved and blurred.

mod augment;
mod csv;
mod error;

use std::path::PathBuf;

use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::Serialize;

pub use augment::Augment;
pub use error::DigitsError;

use crate::random::Random;

/// Which images, and how many.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct DigitsSettings {
    /// A file with the label and then the pixels of a square image in each line, with commas between; else the 8x8 digits
    #[arg(long, value_name = "FILE.csv")]
    pub data: Option<PathBuf>,
    /// How many images are for training; the others are for testing
    #[arg(long, default_value_t = 1000)]
    pub train: usize,
    /// Draws which images these are
    #[arg(long, default_value_t = 7)]
    pub data_seed: u64,
}

impl DigitsSettings {
    /// So many of the 8x8 digits for training.
    pub fn of(train: usize) -> Self {
        Self {
            data: None,
            train,
            data_seed: 7,
        }
    }
}

/// Square images with values from 0 to 1, and their classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Digits {
    side: usize,
    classes: usize,
    /// Image after image, row after row.
    pixels: Vec<f32>,
    labels: Vec<usize>,
}

/// Some images on a device.
#[derive(Clone, Debug)]
pub struct Batch {
    /// `[B, 1, side, side]`.
    pub images: Tensor<4>,
    /// `[B]`.
    pub labels: Tensor<1, Int>,
}

impl Digits {
    /// The images for training and those for testing, in an order by the seed.
    ///
    /// # Errors
    /// A file that is no such file, and a count that leaves no images for training or for testing.
    pub fn load(settings: &DigitsSettings) -> Result<(Self, Self), DigitsError> {
        let all = match &settings.data {
            Some(path) => csv::read(path)?,
            None => Self::shipped(),
        };
        if settings.train == 0 || settings.train >= all.len() {
            return Err(DigitsError::Split {
                train: settings.train,
                images: all.len(),
            });
        }
        let order = permutation(all.len(), &mut Random::new(settings.data_seed));
        let (train, test) = order.split_at(settings.train);
        Ok((all.select(train), all.select(test)))
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // labels from 0 to 9
    fn shipped() -> Self {
        let digits = smartcore::dataset::digits::load_dataset();
        Self {
            side: 8,
            classes: 10,
            pixels: digits.data.iter().map(|x| x / 16.0).collect(),
            labels: digits.target.iter().map(|&label| label as usize).collect(),
        }
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no image.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The width and height of each image.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The number of classes: one above the largest label.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The class of each image.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// The pixels of an image, row after row.
    ///
    /// # Panics
    /// If there is no such image.
    pub fn image(&self, at: usize) -> &[f32] {
        let size = self.side * self.side;
        &self.pixels[at * size..(at + 1) * size]
    }

    fn select(&self, rows: &[usize]) -> Self {
        let images = rows.iter().flat_map(|&row| self.image(row));
        Self {
            side: self.side,
            classes: self.classes,
            pixels: images.copied().collect(),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
        }
    }

    /// Gives a share of the images, rounded, another label than they have. The answer says which.
    ///
    /// # Panics
    /// If the share is not from 0 to 1.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // at most the number of images
    pub fn corrupt(&mut self, share: f64, random: &mut Random) -> Vec<bool> {
        assert!(
            (0.0..=1.0).contains(&share),
            "a share is from 0 to 1, not {share}"
        );
        let count = (share * self.len() as f64).round() as usize;
        let mut corrupted = vec![false; self.len()];
        for &at in &permutation(self.len(), random)[..count] {
            let further = 1 + random.below(self.classes - 1);
            self.labels[at] = (self.labels[at] + further) % self.classes;
            corrupted[at] = true;
        }
        corrupted
    }

    /// These images as they are.
    pub fn batch(&self, rows: &[usize], device: &Device) -> Batch {
        let pixels = rows.iter().flat_map(|&row| self.image(row)).copied();
        self.on_device(pixels.collect(), rows, device)
    }

    /// These images, moved and blurred at random.
    pub fn augmented(
        &self,
        rows: &[usize],
        augment: Augment,
        random: &mut Random,
        device: &Device,
    ) -> Batch {
        let mut pixels = Vec::with_capacity(rows.len() * self.side * self.side);
        for &row in rows {
            augment.append(self.image(row), self.side, random, &mut pixels);
        }
        self.on_device(pixels, rows, device)
    }

    fn on_device(&self, pixels: Vec<f32>, rows: &[usize], device: &Device) -> Batch {
        let shape = [rows.len(), 1, self.side, self.side];
        let labels: Vec<i64> = rows.iter().map(|&row| to_i64(self.labels[row])).collect();
        Batch {
            images: Tensor::from_data(TensorData::new(pixels, shape), device),
            labels: Tensor::from_data(TensorData::new(labels, [rows.len()]), device),
        }
    }
}

/// The numbers below `n` in a random order.
pub fn permutation(n: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for at in (1..n).rev() {
        order.swap(at, random.below(at + 1));
    }
    order
}

#[allow(clippy::cast_possible_wrap)] // classes
fn to_i64(label: usize) -> i64 {
    label as i64
}
