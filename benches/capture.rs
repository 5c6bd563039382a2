//! Per-example statistics against burn's plain gradient of the same model on the same device.
//!
//!     cargo bench --bench capture [-- SUBSTRING]
//!
//! Criterion measures the times, all in one process. Then one table: the median time of the plain gradient, and for each statistic the
//! time as a ratio to it, with the peak of allocated memory as a ratio to that of the plain gradient.

mod support;

use burn::module::Module;
use burn::nn::conv::Conv2dConfig;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::transformer::TransformerEncoderConfig;
use burn::nn::{EmbeddingConfig, LinearConfig, PaddingConfig2d};
use burn::optim::GradientsParams;
use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::{Device, Distribution, Int, Tensor};
use pergrad::nn::{Conv2d, Embedding, Linear, TransformerEncoder, TransformerEncoderInput};
use pergrad::prelude::*;
use pergrad::{Extras, Optimizer, Settings, per_example_norms};
use support::{Bench, Row};

fn statistics() -> Vec<(&'static str, Optimizer)> {
    let both = zip(mean(), chain((square(), mean()))).map(|mean, second| mean + second);
    let clipped = chain((clip_per_example(1.0), mean()));
    vec![
        ("clipped mean", Optimizer::new(clipped).unwrap()),
        ("mean + mean of squares", Optimizer::new(both).unwrap()),
        (
            "mean of signs",
            Optimizer::new(chain((sign(), mean()))).unwrap(),
        ),
    ]
}

/// Measures a model.
fn bench<M: Module>(bench: &mut Bench, name: &str, model: &M, losses: impl Fn(&M) -> Tensor<1>) {
    if !bench.wants(name) {
        return;
    }
    let mut rows: Vec<Row> = Vec::new();
    rows.push(bench.measure(name, "plain gradient", &mut || {
        let grads = losses(model).mean().backward();
        drop(GradientsParams::from_grads(grads, model));
    }));
    rows.push(bench.measure(name, "norms", &mut || {
        drop(per_example_norms(model, |m| losses(m), Settings::default()).unwrap());
    }));
    for (statistic, mut optimizer) in statistics() {
        rows.push(bench.measure(name, statistic, &mut || {
            let updates = optimizer.update_on(model, |m| losses(m), &Extras::new());
            drop(updates.unwrap());
        }));
    }
    bench.report(name, rows);
}

fn cross_entropy(scores: Tensor<2>, labels: Tensor<1, Int>) -> Tensor<1> {
    let likelihood = log_softmax(scores, 1).gather(1, labels.unsqueeze_dim(1));
    -likelihood.flatten(0, 1)
}

fn integers<const D: usize>(shape: [usize; D], below: usize, device: &Device) -> Tensor<D, Int> {
    let uniform = Distribution::Uniform(0.0, below as f64 - 0.01);
    Tensor::<D>::random(shape, uniform, device).floor().int()
}

#[derive(Module, Debug)]
struct Mlp {
    layers: Vec<Linear>,
}

impl Mlp {
    fn new(sizes: &[usize], device: &Device) -> Self {
        let layers = sizes.windows(2);
        let layers = layers.map(|s| Linear::new(&LinearConfig::new(s[0], s[1]), device));
        Self {
            layers: layers.collect(),
        }
    }

    fn forward(&self, mut x: Tensor<2>) -> Tensor<2> {
        for (at, layer) in self.layers.iter().enumerate() {
            x = layer.forward(if at > 0 { relu(x) } else { x });
        }
        x
    }
}

#[derive(Module, Debug)]
struct Cnn {
    conv1: Conv2d,
    conv2: Conv2d,
    pool: MaxPool2d,
    fc1: Linear,
    fc2: Linear,
}

impl Cnn {
    fn new(device: &Device) -> Self {
        let conv = |channels, kernel| Conv2dConfig::new(channels, kernel).with_stride([2, 2]);
        Self {
            conv1: Conv2d::new(
                &conv([1, 16], [8, 8]).with_padding(PaddingConfig2d::Explicit(3, 3, 3, 3)),
                device,
            ),
            conv2: Conv2d::new(&conv([16, 32], [4, 4]), device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([1, 1]).init(),
            fc1: Linear::new(&LinearConfig::new(512, 32), device),
            fc2: Linear::new(&LinearConfig::new(32, 10), device),
        }
    }

    fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let x = self.pool.forward(relu(self.conv1.forward(images)));
        let x = self.pool.forward(relu(self.conv2.forward(x)));
        self.fc2.forward(relu(self.fc1.forward(x.flatten(1, 3))))
    }
}

#[derive(Module, Debug)]
struct Decoder {
    tokens: Embedding,
    blocks: TransformerEncoder,
    output: Linear,
}

impl Decoder {
    fn new(device: &Device) -> Self {
        let blocks = TransformerEncoderConfig::new(128, 512, 4, 4).with_dropout(0.0);
        Self {
            tokens: Embedding::new(&EmbeddingConfig::new(512, 128), device),
            blocks: TransformerEncoder::new(&blocks.with_norm_first(true), device),
            output: Linear::new(&LinearConfig::new(128, 512), device),
        }
    }

    fn losses(&self, ids: Tensor<2, Int>, next: Tensor<2, Int>) -> Tensor<1> {
        let [examples, tokens] = ids.dims();
        let device = ids.device();
        let mask = burn::nn::attention::generate_autoregressive_mask(examples, tokens, &device);
        let input = TransformerEncoderInput::new(self.tokens.forward(ids)).mask_attn(mask);
        let scores = self.output.forward(self.blocks.forward(input));
        let scores = scores.reshape([examples * tokens, 512]);
        let losses = cross_entropy(scores, next.reshape([examples * tokens]));
        losses.reshape([examples, tokens]).sum_dim(1).flatten(0, 1)
    }
}

#[derive(Module, Debug)]
struct Bag {
    words: Embedding,
    output: Linear,
}

fn main() {
    let device = Device::default().autodiff();
    device.seed(3);
    let normal = Distribution::Normal(0.0, 1.0);
    let mut all = Bench::new(["model", "statistic"]);

    for examples in [64, 256] {
        let model = Mlp::new(&[784, 512, 512, 10], &device);
        let x = Tensor::<2>::random([examples, 784], normal, &device);
        let y = integers([examples], 10, &device);
        let losses = |m: &Mlp| cross_entropy(m.forward(x.clone()), y.clone());
        let name = format!("MLP 784-512-512-10, B {examples}");
        bench(&mut all, &name, &model, losses);
    }

    let model = Mlp::new(&[4096, 4096], &device);
    let x = Tensor::<2>::random([64, 4096], normal, &device);
    let losses = |m: &Mlp| m.forward(x.clone()).sum_dim(1).flatten(0, 1);
    bench(&mut all, "Linear 4096-4096, B 64", &model, losses);

    let model = Cnn::new(&device);
    let images = Tensor::<4>::random([64, 1, 28, 28], normal, &device);
    let y = integers([64], 10, &device);
    let losses = |m: &Cnn| cross_entropy(m.forward(images.clone()), y.clone());
    bench(&mut all, "MNIST CNN, B 64", &model, losses);

    let model = Decoder::new(&device);
    for tokens in [64, 256] {
        let ids = integers([16, tokens], 512, &device);
        let next = integers([16, tokens], 512, &device);
        let losses = |m: &Decoder| m.losses(ids.clone(), next.clone());
        let name = format!("transformer d 128, 4 layers, B 16, T {tokens}");
        bench(&mut all, &name, &model, losses);
    }

    let model = Bag {
        words: Embedding::new(&EmbeddingConfig::new(10_000, 100), &device),
        output: Linear::new(&LinearConfig::new(100, 2), &device),
    };
    let (ids, y) = (
        integers([64, 128], 10_000, &device),
        integers([64], 2, &device),
    );
    let losses = |m: &Bag| {
        let words = m.words.forward(ids.clone());
        let mean = words.mean_dim(1);
        cross_entropy(m.output.forward(mean.reshape([64, 100])), y.clone())
    };
    let name = "embedding classifier 10000x100, B 64, T 128";
    bench(&mut all, name, &model, losses);
    all.finish();
}
