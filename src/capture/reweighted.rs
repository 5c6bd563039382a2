//! Weights by norm in two backward passes: for models whose activations should not be kept.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::norms::per_example_norms;
use crate::error::Error;
use crate::exec::Settings;

/// What [`reweighted_grads`] gives.
#[derive(Debug)]
pub struct Reweighted {
    /// `[B]`, not weighted.
    pub losses: Tensor<1>,
    /// The norm of each example's gradient, `[B]`.
    pub norms: Tensor<1>,
    /// The gradients of `sum_b weight_b loss_b / B`, as burn's optimizers and [`Optimizer::aggregated`](crate::Optimizer::aggregated)
    /// take them.
    pub grads: GradientsParams,
}

/// The mean of the examples' gradients, each multiplied by a weight that depends on the norms: norms first, then an ordinary
/// backward pass of the reweighted losses.
///
/// It equals `chain((clip_per_example(C), mean()))` over [`per_example_grads`](crate::per_example_grads), where the weights are
/// [`clip_weights`] of C. What differs is the price:
///
/// | | forward passes | backward passes | kept between them |
/// |--|--|--|--|
/// | over the factors, the default | 1 | 1 | the factors of every leaf |
/// | reweighted losses | 2 | 2 | B norms |
///
/// So this form is right where the activations of the batch do not fit, or where the weights need something else than the
/// gradients. The closure runs twice and must compute the same losses: no dropout, or the same mask twice.
///
/// # Errors
/// Those of [`per_example_grads`](crate::per_example_grads), and weights that are not one for each example.
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{Settings, clip_weights, nn::Linear, reweighted_grads};
///
/// let device = Device::default().autodiff();
/// let model = Linear::new(&LinearConfig::new(2, 1).with_bias(false), &device);
/// let x = Tensor::<2>::from_floats([[3.0, 4.0], [0.0, 0.5]], &device);
/// let losses = |m: &Linear| m.forward(x.clone()).reshape([2]);
/// let clipped = reweighted_grads(&model, losses, |norms| clip_weights(norms, 1.0), Settings::default()).unwrap();
/// let grad = clipped.grads.get::<2>(model.weight.id).unwrap();
/// assert_eq!(grad.into_data().try_to_vec::<f32>().unwrap(), [0.3, 0.65]); // ([0.6, 0.8] + [0, 0.5]) / 2
/// ```
pub fn reweighted_grads<M: Module>(
    model: &M,
    losses: impl Fn(&M) -> Tensor<1>,
    weights: impl FnOnce(Tensor<1>) -> Tensor<1>,
    settings: Settings,
) -> Result<Reweighted, Error> {
    let (values, norms) = per_example_norms(model, &losses, settings)?;
    let [examples] = values.dims();
    if examples == 0 {
        // There is nothing to weigh, and no pass to run.
        return Ok(Reweighted {
            losses: values,
            norms,
            grads: GradientsParams::new(),
        });
    }
    let weights = weights(norms.clone()).inner();
    if weights.dims() != [examples] {
        return Err(Error::WeightCount {
            weights: weights.dims()[0],
            examples,
        });
    }
    let tracked = losses(model);
    let device = tracked.device();
    // Divided here, where nothing is tracked: burn's gradient of a division by a number is rounded to f32.
    #[allow(clippy::cast_precision_loss)] // batches are below 2^53
    let weights = weights.cast(tracked.dtype()).div_scalar(examples as f64);
    let mean = (tracked * weights.to_device(&device)).sum();
    Ok(Reweighted {
        losses: values,
        norms,
        grads: GradientsParams::from_grads(mean.backward(), model),
    })
}

/// `min(1, bound / norm)`: the weights that bring every norm `[B]` to at most `bound`. 1 for a norm of 0; NaN for NaN.
///
/// # Panics
/// If the bound is negative or NaN.
pub fn clip_weights(norms: Tensor<1>, bound: f64) -> Tensor<1> {
    assert!(
        bound >= 0.0,
        "a bound on norms must be at least 0, not {bound}"
    );
    let inside = norms.clone().lower_equal_elem(bound);
    norms.recip().mul_scalar(bound).mask_fill(inside, 1.0)
}
