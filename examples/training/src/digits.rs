//! The 8x8 digits as burn's data sets, loaders and batches.

use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::InMemDataset;
use burn::prelude::*;

/// An image with its label.
#[derive(Clone, Debug)]
pub struct Digit {
    pixels: [f32; 64],
    label: i64,
}

/// Images `[B, 64]` with values from 0 to 1, and labels `[B]`.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The images.
    pub images: Tensor<2>,
    /// The labels.
    pub labels: Tensor<1, Int>,
}

/// Makes batches.
#[derive(Clone, Debug)]
pub struct DigitBatcher;

impl Batcher<Digit, Batch> for DigitBatcher {
    fn batch(&self, items: Vec<Digit>, device: &Device) -> Batch {
        let pixels: Vec<f32> = items.iter().flat_map(|digit| digit.pixels).collect();
        let labels: Vec<i64> = items.iter().map(|digit| digit.label).collect();
        Batch {
            images: Tensor::from_data(TensorData::new(pixels, [items.len(), 64]), device),
            labels: Tensor::from_data(TensorData::new(labels, [items.len()]), device),
        }
    }
}

/// Digits for training, and others for validation.
#[derive(Clone, Debug)]
pub struct Digits {
    train: Vec<Digit>,
    valid: Vec<Digit>,
}

impl Digits {
    /// All digits that smartcore ships: 1500 for training, 297 for validation.
    pub fn load() -> Self {
        let data = smartcore::dataset::digits::load_dataset();
        let digit = |at: usize| Digit {
            pixels: std::array::from_fn(|pixel| data.data[at * 64 + pixel] / 16.0),
            label: data.target[at] as i64,
        };
        let mut digits: Vec<Digit> = (0..data.num_samples).map(digit).collect();
        let valid = digits.split_off(1500);
        Self {
            train: digits,
            valid,
        }
    }

    /// The first few of both.
    pub fn some(count: usize) -> Self {
        let mut digits = Self::load();
        digits.train.truncate(count);
        digits.valid.truncate(count);
        digits
    }

    /// Loaders of shuffled batches for training, and of batches for validation.
    pub fn loaders(&self, batch: usize) -> [Arc<dyn DataLoader<Batch>>; 2] {
        let loader = |digits: &[Digit], seed: Option<u64>| {
            let mut builder = DataLoaderBuilder::new(DigitBatcher).batch_size(batch);
            if let Some(seed) = seed {
                builder = builder.shuffle(seed);
            }
            builder.build(InMemDataset::new(digits.to_vec()))
        };
        [loader(&self.train, Some(7)), loader(&self.valid, None)]
    }

    /// All digits for validation at once.
    pub fn valid(&self, device: &Device) -> Batch {
        DigitBatcher.batch(self.valid.clone(), device)
    }
}

/// The share of digits for which the largest score is that of their label.
pub fn accuracy(scores: Tensor<2>, labels: Tensor<1, Int>) -> f64 {
    let right = scores.argmax(1).flatten(0, 1).equal(labels).float().mean();
    right.into_scalar::<f64>()
}
