//! Multi-head attention.

use burn::module::Module;
use burn::nn::Dropout;
use burn::nn::activation::Gelu;
use burn::nn::attention::{self, MhaOutput, MultiHeadAttentionConfig};
use burn::tensor::activation::{quiet_softmax, softmax};
use burn::tensor::{Bool, Device, Tensor, assert_shape};

use super::Linear;

/// Multi-head attention, as [`burn::nn::attention::MultiHeadAttention`]: masks, quiet softmax and dropout as there.
///
/// The parameters are those of its four [`Linear`] layers, and are held as theirs. burn's pass with a cache, for decoding token by
/// token, is not offered: convert into burn's layer for that.
///
/// # Shapes
/// See [`MhaInput`] and [`MhaOutput`].
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | a masked place | its score is `min_float`, as in burn |
/// | dropout | draws numbers in every pass: [`check_per_example_grads`](crate::check_per_example_grads) needs it off |
///
/// # Example
/// ```
/// use burn::nn::attention::MultiHeadAttentionConfig;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pergrad::nn::{MhaInput, MultiHeadAttention};
/// use pergrad::check_per_example_grads;
///
/// let device = Device::default().autodiff();
/// let config = MultiHeadAttentionConfig::new(4, 2).with_dropout(0.0);
/// let layer = MultiHeadAttention::new(&config, &device);
/// let x = Tensor::<3>::random([2, 3, 4], Distribution::Default, &device);
/// let losses = |m: &MultiHeadAttention, b: std::ops::Range<usize>| {
///     let y = m.forward(MhaInput::self_attn(x.clone().slice([b]))).context;
///     (y.clone() * y).flatten::<2>(1, 2).sum_dim(1).flatten(0, 1)
/// };
/// check_per_example_grads(&layer, 2, losses, 1e-4).unwrap();
/// ```
#[derive(Module, Debug)]
pub struct MultiHeadAttention {
    /// Into the space of the queries.
    pub query: Linear,
    /// Into the space of the keys.
    pub key: Linear,
    /// Into the space of the values.
    pub value: Linear,
    /// Back into the space of the input.
    pub output: Linear,
    /// Of the attention weights.
    pub dropout: Dropout,
    /// burn's layer has it, and does not use it.
    pub activation: Gelu,
    /// The size of every linear layer.
    pub d_model: usize,
    /// The number of heads.
    pub n_heads: usize,
    /// The size of the queries and keys of one head.
    pub d_k: usize,
    /// The score of masked places.
    pub min_float: f64,
    /// Softmax with a 1 more in the denominator.
    pub quiet_softmax: bool,
}

/// What [`MultiHeadAttention`] looks at. burn's type of this name keeps its fields to itself.
#[derive(Clone, Debug)]
pub struct MhaInput {
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    mask_pad: Option<Tensor<2, Bool>>,
    mask_attn: Option<Tensor<3, Bool>>,
}

impl MhaInput {
    /// Query, key and value are one tensor, `[B, T, d_model]`.
    pub fn self_attn(tensor: Tensor<3>) -> Self {
        Self::new(tensor.clone(), tensor.clone(), tensor)
    }

    /// A query `[B, T, d_model]`, keys and values `[B, S, d_model]`.
    pub fn new(query: Tensor<3>, key: Tensor<3>, value: Tensor<3>) -> Self {
        Self {
            query,
            key,
            value,
            mask_pad: None,
            mask_attn: None,
        }
    }

    /// The keys not to look at, `[B, S]`.
    #[must_use]
    pub fn mask_pad(mut self, mask_pad: Tensor<2, Bool>) -> Self {
        self.mask_pad = Some(mask_pad);
        self
    }

    /// The keys that a query may not look at, `[B, T, S]`.
    #[must_use]
    pub fn mask_attn(mut self, mask_attn: Tensor<3, Bool>) -> Self {
        self.mask_attn = Some(mask_attn);
        self
    }
}

impl MultiHeadAttention {
    /// A layer of burn's configuration.
    pub fn new(config: &MultiHeadAttentionConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass; the context is `[B, T, d_model]`.
    ///
    /// # Panics
    /// If the shapes of query, key and value do not fit, as burn's layer does.
    pub fn forward(&self, input: MhaInput) -> MhaOutput {
        let [batch, queries, d_model] = input.query.dims();
        let [_, keys, _] = input.key.dims();
        assert_shape!(input.query, [_, _, self.d_model]);
        assert_shape!(input.key, [batch, _, self.d_model]);
        assert_shape!(input.value, [batch, keys, self.d_model]);

        let query = self.heads(input.query, &self.query);
        let key = self.heads(input.key, &self.key);
        let value = self.heads(input.value, &self.value);
        let mut scores = query.matmul(key.transpose());
        scores = scores.div_scalar((self.d_k as f32).sqrt());
        if let Some(mask) = input.mask_pad {
            let [batch, keys] = mask.dims();
            scores = scores.mask_fill(mask.reshape([batch, 1, 1, keys]), self.min_float);
        }
        if let Some(mask) = input.mask_attn {
            let [batch, queries, keys] = mask.dims();
            scores = scores.mask_fill(mask.reshape([batch, 1, queries, keys]), self.min_float);
        }
        let weights = if self.quiet_softmax {
            quiet_softmax(scores, 3)
        } else {
            softmax(scores, 3)
        };
        let weights = self.dropout.forward(weights);
        let context = weights.clone().matmul(value).swap_dims(1, 2);
        let context = self
            .output
            .forward(context.reshape([batch, queries, d_model]));
        MhaOutput { weights, context }
    }

    /// `[B, T, d_model] -> [B, n_heads, T, d_k]`.
    fn heads(&self, x: Tensor<3>, linear: &Linear) -> Tensor<4> {
        let [batch, tokens, _] = x.dims();
        let x = linear.forward(x);
        x.reshape([batch, tokens, self.n_heads, self.d_k])
            .swap_dims(1, 2)
    }
}

impl From<attention::MultiHeadAttention> for MultiHeadAttention {
    fn from(layer: attention::MultiHeadAttention) -> Self {
        Self {
            query: layer.query.into(),
            key: layer.key.into(),
            value: layer.value.into(),
            output: layer.output.into(),
            dropout: layer.dropout,
            activation: layer.activation,
            d_model: layer.d_model,
            n_heads: layer.n_heads,
            d_k: layer.d_k,
            min_float: layer.min_float,
            quiet_softmax: layer.quiet_softmax,
        }
    }
}

impl From<MultiHeadAttention> for attention::MultiHeadAttention {
    fn from(layer: MultiHeadAttention) -> Self {
        Self {
            query: layer.query.into(),
            key: layer.key.into(),
            value: layer.value.into(),
            output: layer.output.into(),
            dropout: layer.dropout,
            activation: layer.activation,
            d_model: layer.d_model,
            n_heads: layer.n_heads,
            d_k: layer.d_k,
            min_float: layer.min_float,
            quiet_softmax: layer.quiet_softmax,
        }
    }
}
