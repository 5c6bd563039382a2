//! Plain attention: four linear layers and a softmax.

use burn::module::Module;
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor, TensorData};
use pergrad::nn::Linear;

use super::params::Params;

#[derive(Module, Debug)]
pub(crate) struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    heads: usize,
    causal: bool,
}

impl Attention {
    pub(crate) fn build(
        params: &Params<'_>,
        name: &str,
        heads: usize,
        causal: bool,
    ) -> Result<Self, String> {
        let linear = |part| params.linear(&format!("{name}.{part}"));
        Ok(Self {
            query: linear("query")?,
            key: linear("key")?,
            value: linear("value")?,
            output: linear("output")?,
            heads,
            causal,
        })
    }

    /// `[B, T, d] -> [B, T, d]`; each head has its columns.
    pub(crate) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [examples, tokens, width] = x.dims();
        let head = width / self.heads;
        let split = |layer: &Linear| {
            let y = layer.forward(x.clone());
            y.reshape([examples, tokens, self.heads, head])
                .swap_dims(1, 2)
        };
        let scores = split(&self.query).matmul(split(&self.key).swap_dims(2, 3));
        let mut scores = scores.div_scalar((head as f64).sqrt());
        if self.causal {
            let later = later(tokens, &x).expand(scores.dims());
            scores = scores.mask_fill(later, f64::NEG_INFINITY);
        }
        let y = softmax(scores, 3).matmul(split(&self.value));
        self.output
            .forward(y.swap_dims(1, 2).reshape([examples, tokens, width]))
    }
}

/// Whether a key comes after a query, `[1, 1, T, T]`.
fn later(tokens: usize, like: &Tensor<3>) -> Tensor<4, Bool> {
    let later = (0..tokens).flat_map(|query| (0..tokens).map(move |key| key > query));
    let data = TensorData::new(later.collect::<Vec<_>>(), [1, 1, tokens, tokens]);
    Tensor::from_data(data, &like.device())
}
