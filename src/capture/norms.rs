//! The norms of the examples, and nothing else of their gradients.

use burn::module::Module;
use burn::tensor::Tensor;

use super::pass::{self, Receive, Tokens};
use crate::error::Error;
use crate::exec::{Settings, sq_norms};
use crate::grads::form::Form;
use crate::model::ModelLeaves;

/// Runs `losses` on the model and gives back the losses `[B]` with the Euclidean norm `[B]` of each example's gradient over all trained
/// parameters, in one backward pass (Goodfellow, arXiv 1510.01799).
///
/// The norms of a leaf are taken within the backward pass, and its factors are freed at once; the summed gradients are not computed, so
/// it often takes less time than an ordinary gradient. A leaf that is dense (a grouped convolution, many tokens) is `[B, P]` while its norms
/// are taken, a ghost norm `B T^2` numbers in f64. For the choice of the method see
/// [`NormMethod`](crate::NormMethod).
///
/// # Errors
/// Those of [`per_example_grads`](crate::per_example_grads).
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | f16, bf16 | the norms are f32 |
/// | no examples | `[0]` and `[0]` |
/// | NaN or infinity in one example | in its norm only |
///
/// # Example
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{Settings, nn::Linear, per_example_norms};
///
/// let device = Device::default().autodiff();
/// let model = Linear::new(&LinearConfig::new(2, 1).with_bias(false), &device);
/// let x = Tensor::<2>::from_floats([[3.0, 4.0], [0.0, 2.0]], &device);
/// let (_, norms) = per_example_norms(&model, |m| m.forward(x).reshape([2]), Settings::default()).unwrap();
/// assert_eq!(norms.into_data().try_to_vec::<f32>().unwrap(), [5.0, 2.0]);
/// ```
pub fn per_example_norms<M: Module>(
    model: &M,
    losses: impl FnOnce(&M) -> Tensor<1>,
    settings: Settings,
) -> Result<(Tensor<1>, Tensor<1>), Error> {
    let leaves = ModelLeaves::of(model)?;
    let begin = |_| {
        Ok(Norms {
            sum: None,
            settings,
        })
    };
    let (losses, norms) = pass::run(model, &leaves, Tokens::Joined, losses, begin)?;
    let sum = norms.sum.expect("a model has leaves");
    let examples = sum.dims()[0];
    Ok((losses, crate::model::reshape(sum.sqrt(), [examples])))
}

struct Norms {
    sum: Option<Tensor<2>>,
    settings: Settings,
}

impl Receive for Norms {
    fn leaf(&mut self, _at: usize, form: Form) {
        let norms = sq_norms(form, &self.settings);
        self.sum = Some(match self.sum.take() {
            // Leaves of several dtypes add up in the widest.
            Some(sum) if sum.dtype().size() >= norms.dtype().size() => {
                let dtype = sum.dtype();
                sum + norms.cast(dtype)
            }
            Some(sum) => sum.cast(norms.dtype()) + norms,
            None => norms,
        });
    }
}
