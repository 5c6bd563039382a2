//! Whole models of every family.

use std::ops::Range;

use burn::module::Module;
use burn::nn::conv::{Conv1dConfig, Conv2dConfig, ConvTranspose2dConfig};
use burn::nn::pool::MaxPool2dConfig;
use burn::nn::transformer::TransformerEncoderConfig;
use burn::nn::{
    EmbeddingConfig, GroupNormConfig, GruConfig, LayerNormConfig, LinearConfig, LstmConfig,
    PReluConfig, RmsNormConfig,
};
use burn::tensor::{DType, Int, Tensor};
use pergrad::nn::{
    Conv1d, Conv2d, ConvTranspose2d, Embedding, GroupNorm, Gru, LayerNorm, Linear, Lstm, PRelu,
    RmsNorm, TransformerEncoder, TransformerEncoderInput,
};
use pergrad::{check_per_example_grads, per_example_grads};

use super::{losses, randomized, tolerance};
use crate::models::{device, random};

#[derive(Module, Debug)]
struct ConvNet {
    first: Conv2d,
    norm: GroupNorm,
    rectifier: PRelu,
    depthwise: Conv2d,
    up: ConvTranspose2d,
    head: Linear,
}

impl ConvNet {
    fn new() -> Self {
        let device = device();
        let depthwise = Conv2dConfig::new([4, 4], [2, 2]).with_groups(4);
        Self {
            first: Conv2d::new(&Conv2dConfig::new([2, 4], [3, 3]), &device),
            norm: GroupNorm::new(&GroupNormConfig::new(2, 4), &device),
            rectifier: PRelu::new(&PReluConfig::new().with_num_parameters(4), &device),
            depthwise: Conv2d::new(&depthwise, &device),
            up: ConvTranspose2d::new(&ConvTranspose2dConfig::new([4, 1], [2, 2]), &device),
            head: Linear::new(&LinearConfig::new(4, 3), &device),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<2> {
        let x = self
            .rectifier
            .forward(self.norm.forward(self.first.forward(x)));
        let x = MaxPool2dConfig::new([2, 2]).init().forward(x);
        let x = self.up.forward(self.depthwise.forward(x).tanh());
        self.head.forward(x.flatten(1, 3))
    }
}

#[test]
fn a_convolutional_network() {
    for dtype in [DType::F64, DType::F32] {
        let model = randomized(ConvNet::new(), dtype);
        let x = random([3, 2, 6, 6], dtype, &device());
        let losses = |m: &ConvNet, b: Range<usize>| losses(m.forward(x.clone().slice([b])));
        check_per_example_grads(&model, 3, losses, tolerance(dtype)).unwrap();
    }
}

/// A language model whose output layer is its embedding.
#[derive(Module, Debug)]
struct Language {
    tokens: Embedding,
    places: Embedding,
    body: TransformerEncoder,
    norm: RmsNorm,
}

impl Language {
    fn new() -> Self {
        let device = device();
        // Softmax does not see a bias of the keys, whose gradient is then nothing but roundings; quiet softmax does.
        let body = TransformerEncoderConfig::new(4, 6, 2, 2)
            .with_dropout(0.0)
            .with_quiet_softmax(true)
            .with_norm_first(true);
        Self {
            tokens: Embedding::new(&EmbeddingConfig::new(7, 4), &device),
            places: Embedding::new(&EmbeddingConfig::new(5, 4), &device),
            body: TransformerEncoder::new(&body, &device),
            norm: RmsNorm::new(&RmsNormConfig::new(4), &device),
        }
    }

    /// The cross entropy of the next token, for each sequence.
    fn losses(&self, ids: Tensor<2, Int>) -> Tensor<1> {
        let [examples, steps] = ids.dims();
        let places = Tensor::<1, Int>::arange(0..steps as i64, &device());
        let places = places.unsqueeze::<2>().repeat_dim(0, examples);
        let x = self.tokens.forward(ids.clone()) + self.places.forward(places);
        let mask = burn::nn::attention::generate_autoregressive_mask(examples, steps, &device());
        let x = self
            .body
            .forward(TransformerEncoderInput::new(x).mask_attn(mask));
        let logits = self.tokens.attend(self.norm.forward(x));
        let logits = burn::tensor::activation::log_softmax(logits, 2);
        let (logits, next) = (logits.narrow(1, 0, steps - 1), ids.narrow(1, 1, steps - 1));
        let picked = logits.gather(2, next.unsqueeze_dim(2));
        picked.flatten::<2>(1, 2).sum_dim(1).neg().flatten(0, 1)
    }
}

#[test]
fn a_transformer_with_a_tied_embedding() {
    let ids = Tensor::<2, Int>::from_ints(
        [[1, 1, 3, 0, 6], [2, 0, 2, 5, 2], [4, 4, 4, 4, 4]],
        &device(),
    );
    for dtype in [DType::F64, DType::F32] {
        let model = randomized(Language::new(), dtype);
        let losses = |m: &Language, b: Range<usize>| m.losses(ids.clone().slice([b]));
        check_per_example_grads(&model, 3, losses, tolerance(dtype)).unwrap();
    }
}

#[derive(Module, Debug)]
struct Classifier {
    tokens: Embedding,
    filter: Conv1d,
    forward: Lstm,
    backward: Gru,
    head: Linear,
}

impl Classifier {
    fn new() -> Self {
        let device = device();
        Self {
            tokens: Embedding::new(&EmbeddingConfig::new(5, 3), &device),
            filter: Conv1d::new(&Conv1dConfig::new(3, 2, 2), &device),
            forward: Lstm::new(&LstmConfig::new(2, 4, true), &device),
            backward: Gru::new(&GruConfig::new(4, 3, true), &device),
            head: Linear::new(&LinearConfig::new(3, 2), &device),
        }
    }

    fn forward(&self, ids: Tensor<2, Int>) -> Tensor<2> {
        let x = self.tokens.forward(ids).swap_dims(1, 2);
        let x = self.filter.forward(x).swap_dims(1, 2);
        let (x, _) = self.forward.forward(x, None);
        let steps = x.dims()[1];
        let x = self.backward.forward(x.flip([1]), None);
        self.head
            .forward(x.narrow(1, steps - 1, 1).squeeze_dim::<2>(1))
    }
}

#[test]
fn a_recurrent_classifier() {
    let ids = Tensor::<2, Int>::from_ints([[1, 1, 3, 0], [2, 0, 2, 4]], &device());
    for dtype in [DType::F64, DType::F32] {
        let model = randomized(Classifier::new(), dtype);
        let losses = |m: &Classifier, b: Range<usize>| losses(m.forward(ids.clone().slice([b])));
        check_per_example_grads(&model, 2, losses, tolerance(dtype)).unwrap();
    }
}

#[test]
fn an_input_without_autodiff_works_as_well() {
    let plain = burn::tensor::Device::default();
    let model = ConvNet::new();
    let x = random([3, 2, 6, 6], DType::F32, &plain);
    let losses = |m: &ConvNet, b: Range<usize>| losses(m.forward(x.clone().slice([b])));
    check_per_example_grads(&model, 3, losses, tolerance(DType::F32)).unwrap();
}

#[track_caller]
fn empty<M: Module, const D: usize, const E: usize>(
    layer: M,
    shape: [usize; D],
    forward: impl Fn(&M, Tensor<D>) -> Tensor<E>,
) {
    let x = Tensor::<D>::zeros(shape, &device());
    let (losses, grads) = per_example_grads(&layer, |m| losses(forward(m, x))).unwrap();
    assert_eq!((losses.dims(), grads.examples()), ([0], 0));
    for path in grads.paths() {
        assert_eq!(grads.form(path).unwrap().clone().into_dense().dims()[0], 0);
    }
}

#[test]
fn an_empty_batch_gives_convolutions_empty_gradients() {
    for groups in [1, 2] {
        let config = Conv2dConfig::new([2, 2], [2, 2]).with_groups(groups);
        empty(
            Conv2d::new(&config, &device()),
            [0, 2, 3, 3],
            Conv2d::forward,
        );
    }
}

#[test]
fn an_empty_batch_gives_layer_norms_empty_gradients() {
    let layer = LayerNorm::new(&LayerNormConfig::new(3), &device());
    empty(layer, [0, 2, 3], LayerNorm::forward::<3>);
}

#[test]
fn an_empty_batch_gives_rms_norms_empty_gradients() {
    let layer = RmsNorm::new(&RmsNormConfig::new(3), &device());
    empty(layer, [0, 2, 3], RmsNorm::forward::<3>);
}

#[test]
fn an_empty_batch_gives_rectifiers_empty_gradients() {
    let layer = PRelu::new(&PReluConfig::new(), &device());
    empty(layer, [0, 2, 3], PRelu::forward::<3>);
}
