//! Models that use one parameter more than once.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use pergrad::capture::tape::{Use, is_recording, record};
use pergrad::grads::form::Form;
use pergrad::nn::Linear;
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
    activation: Activation,
    times: usize,
    pub(crate) loss: Loss,
}

/// fc, activation, over and over with the same fc.
#[derive(Module, Debug)]
pub(crate) struct Reused {
    fc: Linear,
    times: usize,
    #[module(skip)]
    activation: Activation,
}

impl Reused {
    pub(crate) fn new(args: &Args, params: &Params<'_>) -> Result<Self, String> {
        Ok(Self {
            fc: params.linear("fc")?,
            times: args.times,
            activation: args.activation,
        })
    }
}

impl Network for Reused {
    fn forward(&self, inputs: &HostTensor, place: &Place) -> Tensor<2> {
        let x = place.tensor::<2>(inputs);
        let once = |x| self.activation.forward(self.fc.forward(x));
        (0..self.times).fold(x, |x, _| once(x))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScalarArgs {
    pub(crate) loss: Loss,
}

/// `w (w x)` with a number w: a layer of one's own.
#[derive(Module, Debug)]
pub(crate) struct Scalar {
    w: Param<Tensor<1>>,
}

impl Scalar {
    pub(crate) fn new(params: &Params<'_>) -> Result<Self, String> {
        let w = params.param("w")?;
        Ok(Self { w })
    }

    fn times(&self, x: Tensor<2>) -> Tensor<2> {
        let w = self.w.val().unsqueeze();
        if !is_recording() {
            return x * w;
        }
        let input = x.clone().inner();
        // The gradient of w is the sum of d x over the elements: each counts as a token.
        let by_element = |d: Tensor<2>| Form::Tokens((d * input).unsqueeze_dim(2));
        let device = self.w.val().device();
        record(x * w.inner(), device, vec![Use::new(&self.w, by_element)])
    }
}

impl Network for Scalar {
    fn forward(&self, inputs: &HostTensor, place: &Place) -> Tensor<2> {
        self.times(self.times(place.tensor(inputs)))
    }
}
