//! What the studies of images ask of a network: scores, losses, accuracy, and weights from a seed.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};
use pergrad::{Settings, per_example_norms};

use crate::digits::{Batch, Digits};
use crate::random::Random;

/// How many images are looked at in one go where nothing is trained.
const CHUNK: usize = 256;

/// A network that tells images apart. Its last layer is the leaf `output`.
pub trait Classifier: Module + 'static {
    /// The name of the kind.
    const NAME: &'static str;

    /// A network for images such as these, with the weights of a seed.
    fn new(digits: &Digits, width: usize, seed: u64, device: &Device) -> Self;

    /// A score for each class, `[B, 1, side, side] -> [B, classes]`.
    fn scores(&self, images: Tensor<4>) -> Tensor<2>;

    /// The cross entropy of each image, `[B]`, in nats.
    fn losses(&self, batch: Batch) -> Tensor<1> {
        let scores = log_softmax(self.scores(batch.images), 1);
        -scores
            .gather(1, batch.labels.unsqueeze_dim(1))
            .flatten(0, 1)
    }

    /// The losses of all images.
    fn all_losses(&self, digits: &Digits, device: &Device) -> Vec<f64> {
        let chunks = chunks(digits, device);
        chunks.flat_map(|b| numbers(self.losses(b))).collect()
    }

    /// The share of the images whose class has the highest score.
    fn accuracy(&self, digits: &Digits, device: &Device) -> f64 {
        let right = chunks(digits, device).flat_map(|batch| {
            let guesses = self.scores(batch.images).argmax(1).flatten::<1>(0, 1);
            numbers(guesses.equal(batch.labels).float())
        });
        mean(&right.collect::<Vec<f64>>())
    }

    /// The loss of each image and the norm of its gradient.
    ///
    /// # Errors
    /// Those of [`per_example_norms`].
    fn all_norms(
        &self,
        digits: &Digits,
        device: &Device,
    ) -> Result<(Vec<f64>, Vec<f64>), pergrad::Error> {
        let (mut losses, mut norms) = (Vec::new(), Vec::new());
        for batch in chunks(digits, device) {
            let (some_losses, some_norms) =
                per_example_norms(self, |m| m.losses(batch), Settings::default())?;
            losses.extend(numbers(some_losses));
            norms.extend(numbers(some_norms));
        }
        Ok((losses, norms))
    }
}

/// All images, in parts.
pub fn chunks<'a>(digits: &'a Digits, device: &'a Device) -> impl Iterator<Item = Batch> + 'a {
    let rows: Vec<usize> = (0..digits.len()).collect();
    let parts: Vec<Vec<usize>> = rows.chunks(CHUNK).map(<[usize]>::to_vec).collect();
    parts
        .into_iter()
        .map(move |rows| digits.batch(&rows, device))
}

/// The numbers of a tensor on the host.
pub fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter::<f64>().collect()
}

/// The mean; NaN of nothing.
#[allow(clippy::cast_precision_loss)] // counts of a study
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of the mean of independent values; NaN for fewer than two.
#[allow(clippy::cast_precision_loss)] // counts of a study
pub fn standard_error(values: &[f64]) -> f64 {
    let (middle, n) = (mean(values), values.len() as f64);
    let square: f64 = values.iter().map(|x| (x - middle).powi(2)).sum();
    (square / (n - 1.0) / n).sqrt()
}

/// Weights by He's rule: normal with the variance 2 / (number of inputs), and biases 0.
pub(crate) struct Seeded(pub(crate) Random);

impl ModuleMapper for Seeded {
    #[allow(clippy::cast_precision_loss)] // sizes of layers
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|value| {
            let dims = value.dims();
            let inputs = match D {
                1 => return value.zeros_like().require_grad(),
                // A linear layer is `[inputs, outputs]`, a convolution `[outputs, inputs, height, width]`.
                2 => dims[0],
                _ => dims[1..].iter().product(),
            };
            let std = (2.0 / inputs as f64).sqrt();
            let size = dims.iter().product::<usize>();
            let drawn: Vec<f64> = (0..size).map(|_| std * self.0.normal()).collect();
            Tensor::from_data(TensorData::new(drawn, dims), &value.device()).require_grad()
        })
    }
}
