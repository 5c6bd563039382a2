//! Per-example statistics against burn's plain gradient of the same model on the same device.
//!
//!     cargo bench --bench capture [-- SUBSTRING]
//!
//! Prints one table: the time of the plain gradient, and for each statistic the time as a ratio to it, with the peak of allocated
//! memory as a ratio to that of the plain gradient. Medians over the runs; everything is measured in one process, in turns.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use burn::module::Module;
use burn::nn::conv::Conv2dConfig;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::transformer::TransformerEncoderConfig;
use burn::nn::{EmbeddingConfig, LinearConfig};
use burn::optim::GradientsParams;
use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::{Device, Distribution, Int, Tensor};
use pergrad::nn::{Conv2d, Embedding, Linear, TransformerEncoder, TransformerEncoderInput};
use pergrad::prelude::*;
use pergrad::transforms::{Aggregated, PerExample};
use pergrad::{Optimizer, per_example_grads};

/// Counts the bytes that are alive, and their peak.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only counters are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Seconds and bytes of one run.
fn measure(run: &mut dyn FnMut()) -> (f64, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let start = Instant::now();
    run();
    let time = start.elapsed().as_secs_f64();
    (time, PEAK.load(Ordering::Relaxed) - before)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The norms of the examples, as a metric; the update is a placeholder of the parameters' size.
#[derive(Clone, Debug)]
struct Norms;

impl Transform<PerExample> for Norms {
    type Out = Aggregated;

    fn trace(&self, g: Value<PerExample>, cx: &mut Tracer) -> Value<Aggregated> {
        let norms = g.norm();
        cx.emit("norms", &norms);
        cx.params() * norms.sum()
    }
}

fn statistics() -> Vec<(&'static str, Optimizer)> {
    let both = zip(mean(), chain((square(), mean()))).map(|mean, second| mean + second);
    let clipped = chain((clip_per_example(1.0), mean()));
    vec![
        ("norms", Optimizer::new(Norms).unwrap()),
        ("clipped mean", Optimizer::new(clipped).unwrap()),
        ("mean + mean of squares", Optimizer::new(both).unwrap()),
        (
            "mean of signs",
            Optimizer::new(chain((sign(), mean()))).unwrap(),
        ),
    ]
}

/// Measures a model in turns, so that a slow moment of the machine meets all.
fn bench<M: Module>(name: &str, model: &M, runs: usize, losses: impl Fn(&M) -> Tensor<1>) {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    if filter.is_some_and(|filter| !name.contains(&filter)) {
        return;
    }
    let mut statistics = statistics();
    let mut plain = || {
        let grads = losses(model).mean().backward();
        drop(GradientsParams::from_grads(grads, model));
    };
    let mut times = vec![Vec::new(); statistics.len() + 1];
    let mut peaks = vec![0_usize; statistics.len() + 1];
    for run in 0..=runs {
        let mut note = |at: usize, (time, peak): (f64, usize)| {
            // The first run warms up.
            if run > 0 {
                times[at].push(time);
                peaks[at] = peaks[at].max(peak);
            }
        };
        note(0, measure(&mut plain));
        for (at, (_, optimizer)) in statistics.iter_mut().enumerate() {
            let mut step = || {
                let (_, grads) = per_example_grads(model, |m| losses(m)).unwrap();
                let updates = optimizer.update(model, &grads).unwrap();
                drop((updates, optimizer.metrics().unwrap()));
            };
            note(at + 1, measure(&mut step));
        }
    }
    let (base, base_peak) = (median(times[0].clone()), peaks[0] as f64);
    let names = statistics.iter().map(|(name, _)| *name);
    for (at, statistic) in std::iter::once("plain gradient").chain(names).enumerate() {
        let (time, peak) = (median(times[at].clone()), peaks[at] as f64);
        println!(
            "| {} | {statistic} | {:.2} ms | {:.2} | {:.1} MB | {:.2} |",
            if at == 0 { name } else { "" },
            time * 1e3,
            time / base,
            peak / 1e6,
            peak / base_peak
        );
    }
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
            conv1: Conv2d::new(&conv([1, 16], [8, 8]), device),
            conv2: Conv2d::new(&conv([16, 32], [4, 4]), device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([1, 1]).init(),
            fc1: Linear::new(&LinearConfig::new(32 * 3 * 3, 32), device),
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
    println!("| model | statistic | time | / plain | peak memory | / plain |");
    println!("|--|--|--|--|--|--|");

    for examples in [64, 256] {
        let model = Mlp::new(&[784, 512, 512, 10], &device);
        let x = Tensor::<2>::random([examples, 784], normal, &device);
        let y = integers([examples], 10, &device);
        let losses = |m: &Mlp| cross_entropy(m.forward(x.clone()), y.clone());
        bench(
            &format!("MLP 784-512-512-10, B {examples}"),
            &model,
            15,
            losses,
        );
    }

    let model = Mlp::new(&[4096, 4096], &device);
    let x = Tensor::<2>::random([64, 4096], normal, &device);
    let losses = |m: &Mlp| m.forward(x.clone()).sum_dim(1).flatten(0, 1);
    bench("Linear 4096-4096, B 64", &model, 7, losses);

    let model = Cnn::new(&device);
    let images = Tensor::<4>::random([64, 1, 28, 28], normal, &device);
    let y = integers([64], 10, &device);
    let losses = |m: &Cnn| cross_entropy(m.forward(images.clone()), y.clone());
    bench("MNIST CNN, B 64", &model, 15, losses);

    let model = Decoder::new(&device);
    for tokens in [64, 256] {
        let ids = integers([16, tokens], 512, &device);
        let next = integers([16, tokens], 512, &device);
        let losses = |m: &Decoder| m.losses(ids.clone(), next.clone());
        let name = format!("transformer d 128, 4 layers, B 16, T {tokens}");
        bench(&name, &model, 5, losses);
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
    bench(
        "embedding classifier 10000x100, B 64, T 128",
        &model,
        7,
        losses,
    );
}
