//! Linear layers in a row.

use burn::module::Module;
use burn::tensor::Tensor;
use pergrad::nn::Linear;
use pergrad::transforms::runner::HostTensor;
use serde::Deserialize;

use super::activation::Activation;
use super::case::Network;
use super::loss::Loss;
use super::norm::{Kind, Norm};
use super::params::Params;
use super::place::Place;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    activation: Activation,
    pub(crate) norm: Option<Kind>,
    pub(crate) loss: Loss,
}

/// fc1, norm, activation, fc2, ...; the axes between the first and the last are carried along.
#[derive(Module, Debug)]
pub(crate) struct Mlp<N: Norm> {
    fc1: Linear,
    fc2: Option<Linear>,
    fc3: Option<Linear>,
    norm: N,
    #[module(skip)]
    activation: Activation,
}

impl<N: Norm> Mlp<N> {
    pub(crate) fn new(args: &Args, params: &Params<'_>) -> Result<Self, String> {
        Ok(Self {
            fc1: params.linear("fc1")?,
            fc2: params.optional_linear("fc2")?,
            fc3: params.optional_linear("fc3")?,
            norm: N::build(params, "norm")?,
            activation: args.activation,
        })
    }

    fn layers<const D: usize>(&self, x: Tensor<D>) -> Tensor<2> {
        let mut x = self.fc1.forward(x);
        for layer in [&self.fc2, &self.fc3].into_iter().flatten() {
            x = self.activation.forward(self.norm.forward(x));
            x = layer.forward(x);
        }
        x.flatten(1, D - 1)
    }
}

impl<N: Norm> Network for Mlp<N> {
    const F32_INSIDE: bool = N::F32_INSIDE;

    fn forward(&self, inputs: &HostTensor, place: &Place) -> Tensor<2> {
        match inputs.shape.len() {
            3 => self.layers(place.tensor::<3>(inputs)),
            4 => self.layers(place.tensor::<4>(inputs)),
            _ => self.layers(place.tensor::<2>(inputs)),
        }
    }
}
