//! Attention and the transformer encoder.

use burn::nn::activation::ActivationConfig;
use burn::nn::attention::{self, MultiHeadAttentionConfig, generate_autoregressive_mask};
use burn::nn::transformer::{self, PositionWiseFeedForwardConfig, TransformerEncoderConfig};
use burn::tensor::{Bool, DType, Tensor};
use pergrad::nn::{
    MhaInput, MultiHeadAttention, PositionWiseFeedForward, TransformerEncoder,
    TransformerEncoderInput, TransformerEncoderLayer,
};

use super::{holds, is_burns};
use crate::models::{device, random};

/// Masked places keep some weight: otherwise a bias of the keys shifts all scores alike, and its gradient is nothing but roundings.
const MASKED: f64 = -1.0;

fn attentions() -> [MultiHeadAttentionConfig; 3] {
    let config = MultiHeadAttentionConfig::new(4, 2)
        .with_dropout(0.0)
        .with_min_float(MASKED);
    [
        config.clone(),
        config.clone().with_quiet_softmax(true),
        config.with_key_bias(false).with_output_bias(false),
    ]
}

/// The last key of every example is padding.
fn padding(x: &Tensor<3>) -> Tensor<2, Bool> {
    let [examples, tokens, _] = x.dims();
    let last = (0..examples * tokens).map(|at| at % tokens == tokens - 1 && tokens > 1);
    let last = burn::tensor::TensorData::new(last.collect::<Vec<bool>>(), [examples, tokens]);
    Tensor::from_data(last, &device())
}

fn causal(x: &Tensor<3>) -> Tensor<3, Bool> {
    let [examples, tokens, _] = x.dims();
    generate_autoregressive_mask(examples, tokens, &device())
}

#[test]
fn attention_captured_equals_one_example_at_a_time() {
    for config in attentions() {
        let layer = MultiHeadAttention::new(&config, &device());
        for shape in [[0, 3, 4], [0, 1, 4]] {
            holds(layer.clone(), shape, |m: &MultiHeadAttention, x| {
                let input = MhaInput::self_attn(x.clone()).mask_pad(padding(&x));
                m.forward(input.mask_attn(causal(&x))).context
            });
        }
        // Queries of another length than keys, and the weights as the output.
        holds(layer, [0, 3, 4], |m: &MultiHeadAttention, x| {
            let query = x.clone().narrow(1, 0, 2);
            let input = MhaInput::new(query, x.clone().tanh(), x.clone());
            let output = m.forward(input.mask_pad(padding(&x)));
            Tensor::cat(
                vec![
                    output.weights.flatten::<2>(1, 3),
                    output.context.flatten(1, 2),
                ],
                1,
            )
        });
    }
}

#[test]
fn attention_without_masks_captured_equals_one_example_at_a_time() {
    let config = attentions()[2].clone(); // without a bias of the keys
    let layer = MultiHeadAttention::new(&config, &device());
    holds(layer, [0, 3, 4], |m: &MultiHeadAttention, x| {
        m.forward(MhaInput::self_attn(x)).context
    });
}

#[test]
fn attention_is_burns() {
    for config in attentions() {
        let x = random([2, 3, 4], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x,
            |m: &attention::MultiHeadAttention, x| {
                let input = attention::MhaInput::self_attn(x.clone()).mask_pad(padding(&x));
                m.forward(input.mask_attn(causal(&x))).context
            },
            |m: &MultiHeadAttention, x| {
                let input = MhaInput::self_attn(x.clone()).mask_pad(padding(&x));
                m.forward(input.mask_attn(causal(&x))).context
            },
        );
    }
}

#[test]
fn feed_forward_captured_equals_one_example_at_a_time_and_is_burns() {
    for activation in [ActivationConfig::Gelu, ActivationConfig::Tanh] {
        let config = PositionWiseFeedForwardConfig::new(4, 6)
            .with_dropout(0.0)
            .with_activation(activation);
        let layer = PositionWiseFeedForward::new(&config, &device());
        holds(layer.clone(), [0, 4], PositionWiseFeedForward::forward::<2>);
        holds(layer, [0, 3, 4], PositionWiseFeedForward::forward::<3>);
        let x = random([2, 3, 4], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x,
            transformer::PositionWiseFeedForward::forward::<3>,
            PositionWiseFeedForward::forward::<3>,
        );
    }
}

fn encoders() -> [TransformerEncoderConfig; 3] {
    let config = TransformerEncoderConfig::new(4, 6, 2, 2).with_dropout(0.0);
    [
        config.clone(),
        config.clone().with_norm_first(true),
        config
            .with_quiet_softmax(true)
            .with_layer_norm_eps(0.1)
            .with_activation(ActivationConfig::Tanh),
    ]
}

#[test]
fn encoder_captured_equals_one_example_at_a_time() {
    for config in encoders() {
        let mut model = TransformerEncoder::new(&config, &device());
        for layer in &mut model.layers {
            layer.mha.min_float = MASKED;
        }
        let layer = model.layers[0].clone();
        for shape in [[0, 3, 4], [0, 1, 4]] {
            holds(model.clone(), shape, |m: &TransformerEncoder, x| {
                let input = TransformerEncoderInput::new(x.clone()).mask_pad(padding(&x));
                m.forward(input.mask_attn(causal(&x)))
            });
        }
        holds(layer, [0, 3, 4], |m: &TransformerEncoderLayer, x| {
            m.forward(x.clone(), Some(padding(&x)), Some(causal(&x)))
        });
    }
}

#[test]
fn encoder_is_burns() {
    for config in encoders() {
        let x = random([2, 3, 4], DType::F32, &device());
        is_burns(
            config.init(&device()),
            x.clone(),
            |m: &transformer::TransformerEncoder, x| {
                let input =
                    transformer::TransformerEncoderInput::new(x.clone()).mask_pad(padding(&x));
                m.forward(input.mask_attn(causal(&x)))
            },
            |m: &TransformerEncoder, x| {
                let input = TransformerEncoderInput::new(x.clone()).mask_pad(padding(&x));
                m.forward(input.mask_attn(causal(&x)))
            },
        );
    }
}

#[test]
fn dropout_takes_part_in_a_capture() {
    // Half of the weights are dropped: the second pass draws other ones.
    let config = MultiHeadAttentionConfig::new(4, 2).with_dropout(0.5);
    let layer = MultiHeadAttention::new(&config, &device());
    let x = random([8, 6, 4], DType::F32, &device());
    let losses = || {
        let losses = |m: &MultiHeadAttention| {
            super::losses(m.forward(MhaInput::self_attn(x.clone())).context)
        };
        crate::models::numbers(pergrad::per_example_grads(&layer, losses).unwrap().0)
    };
    assert_ne!(losses(), losses());
}
