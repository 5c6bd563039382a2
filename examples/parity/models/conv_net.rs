//! Convolutions in a row, and a linear head.

use burn::module::Module;
use burn::nn::PaddingConfig2d;
use burn::nn::conv::Conv2dConfig;
use burn::tensor::Tensor;
use pergrad::nn::{Conv2d, Linear};
use pergrad::transforms::runner::HostTensor;
use serde::Deserialize;

use super::activation::Activation;
use super::case::Network;
use super::loss::Loss;
use super::params::Params;
use super::place::Place;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    convolutions: Vec<Convolution>,
    activation: Activation,
    head: Head,
    pub(crate) loss: Loss,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Convolution {
    stride: [usize; 2],
    /// The same at both ends.
    padding: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Head {
    /// The average over the pixels.
    Mean,
    Flatten,
}

/// conv1, activation, conv2, ...; the head; fc.
#[derive(Module, Debug)]
pub(crate) struct ConvNet {
    conv1: Option<Conv2d>,
    conv2: Option<Conv2d>,
    fc: Linear,
    #[module(skip)]
    activation: Activation,
    #[module(skip)]
    head: Head,
}

impl ConvNet {
    pub(crate) fn new(args: &Args, params: &Params<'_>) -> Result<Self, String> {
        let conv = |at: usize| {
            let convolution = args.convolutions.get(at - 1);
            let conv = convolution.map(|c| c.layer(params, &format!("conv{at}")));
            conv.transpose()
        };
        Ok(Self {
            conv1: conv(1)?,
            conv2: conv(2)?,
            fc: params.linear("fc")?,
            activation: args.activation,
            head: args.head,
        })
    }
}

impl Convolution {
    fn layer(&self, params: &Params<'_>, name: &str) -> Result<Conv2d, String> {
        let weight = params.param::<4>(&format!("{name}.weight"))?;
        let [channels, in_group, height, width] = weight.dims();
        let [top, left] = self.padding;
        let config = Conv2dConfig::new([in_group * self.groups, channels], [height, width])
            .with_stride(self.stride)
            .with_padding(PaddingConfig2d::Explicit(top, left, top, left))
            .with_dilation(self.dilation)
            .with_groups(self.groups);
        let mut layer = config.init(&weight.device());
        layer.weight = weight;
        layer.bias = params.optional(&format!("{name}.bias"))?;
        Ok(layer.into())
    }
}

impl Network for ConvNet {
    fn forward(&self, inputs: &HostTensor, place: &Place) -> Tensor<2> {
        let mut x = place.tensor::<4>(inputs);
        for conv in [&self.conv1, &self.conv2].into_iter().flatten() {
            x = self.activation.forward(conv.forward(x));
        }
        let x = match self.head {
            Head::Mean => x.flatten::<3>(2, 3).mean_dim(2).flatten(1, 2),
            Head::Flatten => x.flatten(1, 3),
        };
        self.fc.forward(x)
    }
}
