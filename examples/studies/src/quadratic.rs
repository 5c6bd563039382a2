//! A stochastic quadratic, whose gradients have a mean and a variance that are known.
//!
//! The loss of an example is `||w - x_b||^2 / 2` with `x_b` normal around 0, so its gradient at `w` is `w - x_b`: the mean is `w` itself, the
//! variance that of `x_b`, and both stay as they are for as long as `w` does.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use pergrad::PerExampleGrads;

use crate::random::Random;

/// The parameters.
#[derive(Module, Debug)]
pub struct Point {
    /// One number for each coordinate.
    pub w: Param<Tensor<1>>,
}

/// The quadratic at one point.
#[derive(Clone, Debug)]
pub struct Quadratic {
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Quadratic {
    /// The quadratic whose gradients have these means and standard deviations, coordinate by coordinate.
    pub fn new(coordinates: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (means, deviations) = coordinates.into_iter().unzip();
        Self { means, deviations }
    }

    /// The squared norm of the true gradient.
    pub fn signal(&self) -> f64 {
        self.means.iter().map(|m| m * m).sum()
    }

    /// The trace of the covariance of one example's gradient.
    pub fn noise(&self) -> f64 {
        self.deviations.iter().map(|s| s * s).sum()
    }

    /// A model at the point.
    pub fn point(&self, device: &Device) -> Point {
        let data = TensorData::new(self.means.clone(), [self.means.len()]);
        Point {
            w: Param::from_tensor(Tensor::from_data(data, device)),
        }
    }

    /// The gradients of fresh examples.
    ///
    /// # Errors
    /// No coordinates.
    pub fn grads(
        &self,
        examples: usize,
        random: &mut Random,
        device: &Device,
    ) -> Result<PerExampleGrads, pergrad::Error> {
        let coordinates = || self.means.iter().zip(&self.deviations);
        let numbers: Vec<f64> = (0..examples)
            .flat_map(|_| coordinates())
            .map(|(mean, deviation)| mean - deviation * random.normal())
            .collect();
        let data = TensorData::new(numbers, [examples, self.means.len()]);
        let leaf = Tensor::<2>::from_data(data, device);
        PerExampleGrads::builder().leaf("w", leaf).build()
    }
}
