//! The variance of a gradient estimate whose examples are drawn by their norms.
//!
//! The mean of `w_i g_i` over B draws, `w_i = 1 / (N p_i)`, is right on average, and its variance, summed over the parameters, is
//! `(sum_i ||g_i||^2 / (N^2 p_i) - ||mean g||^2) / B`. Norms and one gradient tell it exactly.

use burn::module::{ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use pergrad::prelude::{chain, scale_per_example};
use pergrad::transforms::sampler::NormSampler;
use pergrad::{Extras, Optimizer, Updates, per_example_grads};

use crate::classifier::{Classifier, mean, numbers};
use crate::digits::Digits;

/// The variance for batches of one that are drawn with these probabilities, from the norms and the squared norm of the mean gradient.
///
/// # Panics
/// If there are not as many norms as probabilities.
#[allow(clippy::cast_precision_loss)] // counts of images
pub fn variance(norms: &[f64], probabilities: &[f64], mean_sq_norm: f64) -> f64 {
    assert_eq!(norms.len(), probabilities.len());
    let n = norms.len() as f64;
    let terms = norms.iter().zip(probabilities);
    let second: f64 = terms.map(|(norm, p)| (norm / n).powi(2) / p).sum();
    second - mean_sq_norm
}

/// A sampler that knows these norms.
///
/// # Errors
/// A norm that is not finite, no norms, or a share `mix` that is not above 0 and at most 1.
pub fn informed(norms: &[f64], mix: f64) -> Result<NormSampler, pergrad::transforms::Error> {
    let mut sampler = NormSampler::new(norms.len())?.mix(mix)?;
    let all: Vec<usize> = (0..norms.len()).collect();
    sampler.update(&all, norms)?;
    Ok(sampler)
}

/// The gradient of the mean loss of all images, as one vector.
pub(super) fn full_gradient<C: Classifier>(
    model: &C,
    digits: &Digits,
    device: &Device,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let rows: Vec<usize> = (0..digits.len()).collect();
    weighted_gradient(model, digits, &rows, &vec![1.0; rows.len()], device)
}

/// `mean_b w_b g_b` of these images, as one vector.
fn weighted_gradient<C: Classifier>(
    model: &C,
    digits: &Digits,
    rows: &[usize],
    weights: &[f64],
    device: &Device,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let batch = digits.batch(rows, device);
    let (_, grads) = per_example_grads(model, |m| m.losses(batch))?;
    let mut average = Optimizer::new(chain((
        scale_per_example("importance"),
        pergrad::prelude::mean(),
    )))?;
    let weights = Tensor::<1>::from_data(weights, device);
    let extras = Extras::new().per_example("importance", weights);
    let updates = average.update_with(model, &grads, &extras)?;
    let mut flat = Flat {
        updates,
        path: Vec::new(),
        numbers: Vec::new(),
    };
    model.visit(&mut flat);
    Ok(flat.numbers)
}

/// Puts the updates of all leaves one after the other.
struct Flat {
    updates: Updates,
    path: Vec<String>,
    numbers: Vec<f64>,
}

impl ModuleVisitor for Flat {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, _param: &Param<Tensor<D>>) {
        let leaf = self.updates.leaf::<D>(&self.path.join("."));
        self.numbers
            .extend(numbers(leaf.expect("a leaf of the model")));
    }
}

/// The squared distance from the full gradient, on average over many batches that are really drawn, times the size of a batch.
pub(super) fn measured<C: Classifier>(
    model: &C,
    digits: &Digits,
    (sampler, batch): (&NormSampler, usize),
    (full, batches): (&[f64], usize),
    device: &Device,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut distances = Vec::new();
    for (_, seed) in (0..batches).zip(1000..) {
        let draws = sampler.sample(batch, seed);
        let rows: Vec<usize> = draws.iter().map(|draw| draw.index).collect();
        let weights: Vec<f64> = draws.iter().map(|draw| draw.weight).collect();
        let estimate = weighted_gradient(model, digits, &rows, &weights, device)?;
        let off = estimate.iter().zip(full).map(|(a, b)| (a - b).powi(2));
        distances.push(off.sum::<f64>());
    }
    #[allow(clippy::cast_precision_loss)] // sizes of batches
    Ok(mean(&distances) * batch as f64)
}
