//! A small causal transformer over tokens, of the layers of `pergrad::nn`.
//!
//! Normalization stands before the parts (as in GPT-2), positions are learned. The keys have no bias: it would shift all scores of a
//! query alike, so that its gradient is nothing but roundings, and the sign of a rounding is noise.

use burn::module::{Module, ModuleMapper, Param};
use burn::nn::attention::{MultiHeadAttentionConfig, generate_autoregressive_mask};
use burn::nn::transformer::PositionWiseFeedForwardConfig;
use burn::nn::{EmbeddingConfig, LayerNormConfig, LinearConfig};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use pergrad::nn::{
    Embedding, LayerNorm, Linear, MhaInput, MultiHeadAttention, PositionWiseFeedForward,
};
use serde::Serialize;

use crate::random::Random;

/// How large a transformer is.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct TransformerSettings {
    /// The number of layers
    #[arg(long, default_value_t = 2)]
    pub layers: usize,
    /// The width; the feed-forward parts are four times as wide
    #[arg(long, default_value_t = 32)]
    pub width: usize,
    /// The number of heads, which must divide the width
    #[arg(long, default_value_t = 2)]
    pub heads: usize,
    /// How many tokens the model sees
    #[arg(long, default_value_t = 16)]
    pub context: usize,
}

impl TransformerSettings {
    /// One narrow layer, for tests.
    pub fn tiny() -> Self {
        Self {
            layers: 1,
            width: 8,
            heads: 2,
            context: 4,
        }
    }
}

/// Sizes that make no transformer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransformerError {
    /// A size of 0.
    #[error("`{name}` must be at least 1, not 0")]
    Zero {
        /// Which.
        name: &'static str,
    },
    /// Heads that do not share the width.
    #[error(
        "{heads} heads cannot share a width of {width}: take a width that is a multiple of the heads"
    )]
    Heads {
        /// The heads.
        heads: usize,
        /// The width.
        width: usize,
    },
}

/// A causal transformer that says for each token what comes next.
#[derive(Module, Debug)]
pub struct Transformer {
    /// One vector for each token.
    pub tokens: Embedding,
    /// One vector for each place.
    pub positions: Embedding,
    /// The layers, first to last.
    pub blocks: Vec<Block>,
    /// Before the output.
    pub norm: LayerNorm,
    /// The scores of the next token.
    pub output: Linear,
}

/// Attention and a feed-forward part, each with its normalization before it and a way around it.
#[derive(Module, Debug)]
pub struct Block {
    /// Before the attention.
    pub attention_norm: LayerNorm,
    /// Looks at the tokens up to this one.
    pub attention: MultiHeadAttention,
    /// Before the feed-forward part.
    pub forward_norm: LayerNorm,
    /// Each token on its own.
    pub forward: PositionWiseFeedForward,
}

impl Transformer {
    /// A model whose weights are those of a seed: normal with the variance 1 / (number of inputs), embeddings 1 / width, biases 0.
    ///
    /// # Errors
    /// A size of 0, or heads that do not divide the width.
    pub fn new(
        settings: &TransformerSettings,
        vocabulary: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self, TransformerError> {
        let &TransformerSettings {
            layers,
            width,
            heads,
            context,
        } = settings;
        let sizes = [
            ("layers", layers),
            ("width", width),
            ("heads", heads),
            ("context", context),
            ("vocabulary", vocabulary),
        ];
        if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(TransformerError::Zero { name });
        }
        if width % heads != 0 {
            return Err(TransformerError::Heads { heads, width });
        }
        let model = Self {
            tokens: Embedding::new(&EmbeddingConfig::new(vocabulary, width), device),
            positions: Embedding::new(&EmbeddingConfig::new(context, width), device),
            blocks: (0..layers)
                .map(|_| Block::new(width, heads, device))
                .collect(),
            norm: LayerNorm::new(&LayerNormConfig::new(width), device),
            output: Linear::new(&LinearConfig::new(width, vocabulary), device),
        };
        Ok(model.map(&mut Seeded {
            random: Random::new(seed),
            path: Vec::new(),
        }))
    }

    /// The scores of the next token, `[B, T] -> [B, T, vocabulary]`.
    pub fn forward(&self, seen: Tensor<2, Int>) -> Tensor<3> {
        let [examples, length] = seen.dims();
        let device = seen.device();
        // One row of places for each example: a row that all share would not tell their gradients apart.
        let places = Tensor::<1, Int>::arange(0..to_i64(length), &device);
        let places = places.unsqueeze::<2>().repeat_dim(0, examples);
        let mut x = self.tokens.forward(seen) + self.positions.forward(places);
        for block in &self.blocks {
            x = block.forward(x);
        }
        self.output.forward(self.norm.forward(x))
    }

    /// The losses of sequences `[B, T + 1]`: for each example its mean cross entropy over tokens, `[B]`, in nats.
    pub fn losses(&self, sequences: Tensor<2, Int>) -> Tensor<1> {
        let length = sequences.dims()[1] - 1;
        let next = sequences.clone().narrow(1, 1, length);
        let scores = log_softmax(self.forward(sequences.narrow(1, 0, length)), 2);
        let said: Tensor<2> = scores.gather(2, next.unsqueeze_dim(2)).flatten(1, 2);
        -said.mean_dim(1).flatten(0, 1)
    }
}

impl Block {
    fn new(width: usize, heads: usize, device: &Device) -> Self {
        let norm = LayerNormConfig::new(width);
        let attention = MultiHeadAttentionConfig::new(width, heads)
            .with_dropout(0.0)
            .with_key_bias(false);
        let forward = PositionWiseFeedForwardConfig::new(width, 4 * width).with_dropout(0.0);
        Self {
            attention_norm: LayerNorm::new(&norm, device),
            attention: MultiHeadAttention::new(&attention, device),
            forward_norm: LayerNorm::new(&norm, device),
            forward: PositionWiseFeedForward::new(&forward, device),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [examples, length, _] = x.dims();
        let later = generate_autoregressive_mask(examples, length, &x.device());
        let input = MhaInput::self_attn(self.attention_norm.forward(x.clone()));
        let x = x + self.attention.forward(input.mask_attn(later)).context;
        x.clone() + self.forward.forward(self.forward_norm.forward(x))
    }
}

/// Sets the weights by a generator of its own.
struct Seeded {
    random: Random,
    path: Vec<String>,
}

impl ModuleMapper for Seeded {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    #[allow(clippy::cast_precision_loss)] // widths
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let table = matches!(self.path[0].as_str(), "tokens" | "positions");
        let scale = self.path.last().is_some_and(|name| name == "gamma");
        param.map(|value| {
            let dims = value.dims();
            let fan = if table { dims[D - 1] } else { dims[0] };
            let std = 1.0 / (fan as f64).sqrt();
            let mut draw = || match (D, scale) {
                (1, true) => 1.0,
                (1, false) => 0.0,
                _ => std * self.random.normal(),
            };
            let numbers: Vec<f64> = (0..dims.iter().product::<usize>())
                .map(|_| draw())
                .collect();
            let drawn = Tensor::from_data(TensorData::new(numbers, dims), &value.device());
            if value.is_require_grad() {
                drawn.require_grad()
            } else {
                drawn
            }
        })
    }
}

#[allow(clippy::cast_possible_wrap)] // lengths of sequences
fn to_i64(length: usize) -> i64 {
    length as i64
}
