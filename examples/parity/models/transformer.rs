//! A block of a transformer between token table and logits.

use burn::module::Module;
use burn::tensor::{Int, Tensor};
use pergrad::nn::{Embedding, Linear};
use pergrad::transforms::runner::HostTensor;
use serde::Deserialize;

use super::activation::Activation;
use super::attention::Attention;
use super::case::Network;
use super::loss::Loss;
use super::norm::{Kind, Norm};
use super::params::Params;
use super::place::Place;
use super::tied;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    heads: usize,
    causal: bool,
    tied: bool,
    activation: Activation,
    pub(crate) norm: Kind,
    pub(crate) loss: Loss,
}

/// x = tok[ids] + pos; x += attn(norm1 x); x += fc2(activation(fc1(norm2 x))); norm3(x) out, or norm3(x) tok^T.
#[derive(Module, Debug)]
pub(crate) struct Transformer<N: Norm> {
    tok: Embedding,
    pos: Embedding,
    norm1: N,
    attn: Attention,
    norm2: N,
    fc1: Linear,
    fc2: Linear,
    norm3: N,
    out: Option<Linear>,
    #[module(skip)]
    activation: Activation,
}

impl<N: Norm> Transformer<N> {
    pub(crate) fn new(args: &Args, params: &Params<'_>) -> Result<Self, String> {
        let out = (!args.tied).then(|| params.linear("out")).transpose()?;
        Ok(Self {
            tok: params.embedding("tok")?,
            pos: params.embedding("pos")?,
            norm1: N::build(params, "norm1")?,
            attn: Attention::build(params, "attn", args.heads, args.causal)?,
            norm2: N::build(params, "norm2")?,
            fc1: params.linear("fc1")?,
            fc2: params.linear("fc2")?,
            norm3: N::build(params, "norm3")?,
            out,
            activation: args.activation,
        })
    }
}

impl<N: Norm> Network for Transformer<N> {
    const F32_INSIDE: bool = N::F32_INSIDE;

    fn forward(&self, inputs: &HostTensor, place: &Place) -> Tensor<2> {
        let ids: Tensor<2, Int> = place.indices(inputs);
        let [examples, tokens] = ids.dims();
        let places = Tensor::<1, Int>::arange(0..tokens as i64, &place.device);
        let places = places.unsqueeze::<2>().expand([examples, tokens]);
        let x = self.tok.forward(ids) + self.pos.forward(places);
        let x = x.clone() + self.attn.forward(self.norm1.forward(x));
        let hidden = self.fc1.forward(self.norm2.forward(x.clone()));
        let x = x + self.fc2.forward(self.activation.forward(hidden));
        let x = self.norm3.forward(x);
        let logits = match &self.out {
            Some(out) => out.forward(x),
            None => tied::logits(&self.tok, x),
        };
        logits.flatten(1, 2)
    }
}
