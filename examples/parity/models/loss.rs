//! Losses by name: one number for each example.

use burn::tensor::Tensor;
use burn::tensor::activation::{log_softmax, softplus};
use pergrad::transforms::runner::HostTensor;
use serde::Deserialize;

use super::place::Place;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Loss {
    /// Of logits, summed over the outputs.
    BinaryCrossEntropy,
    HalfSquaredError,
    InnerProduct,
    /// The target is a class.
    SoftmaxCrossEntropy,
    /// Of logits `[B, T, V]`, summed over the tokens; those with the target -1 do not count.
    TokenCrossEntropy,
}

impl Loss {
    /// The losses `[B]` of outputs `[B, N]`.
    pub(crate) fn forward(
        self,
        outputs: Tensor<2>,
        targets: &HostTensor,
        place: &Place,
    ) -> Tensor<1> {
        let [examples, size] = outputs.dims();
        let numbers = || place.tensor::<1>(&flat(targets)).reshape([examples, size]);
        let each = match self {
            Self::BinaryCrossEntropy => softplus(outputs.clone(), 1.0) - outputs * numbers(),
            Self::HalfSquaredError => (outputs - numbers()).square().mul_scalar(0.5),
            Self::InnerProduct => outputs * numbers(),
            Self::SoftmaxCrossEntropy | Self::TokenCrossEntropy => {
                let tokens = targets.values.len() / examples;
                let logits = outputs.reshape([examples * tokens, size / tokens]);
                cross_entropy(logits, targets, place).reshape([examples, tokens])
            }
        };
        each.sum_dim(1).reshape([examples])
    }
}

/// For each row of logits, `[N, V] -> [N, 1]`.
fn cross_entropy(logits: Tensor<2>, targets: &HostTensor, place: &Place) -> Tensor<2> {
    let targets = place.indices::<1>(&flat(targets)).unsqueeze_dim::<2>(1);
    let ignored = targets.clone().lower_elem(0);
    let classes = targets.mask_fill(ignored.clone(), 0);
    let each = log_softmax(logits, 1).gather(1, classes).neg();
    each.mask_fill(ignored, 0.0)
}

fn flat(x: &HostTensor) -> HostTensor {
    HostTensor::new([x.values.len()], x.values.clone())
}
