//! Trains a small network on the 8x8 digits with five optimizers that differ only in where a link of their chain stands.
//!
//!     cargo run --release --example quickstart [PICTURE.svg]
//!
//! Each optimizer starts from the same weights and sees the same batches. At the end: a table of test accuracy and time, and a
//! picture of the loss curves.

use std::time::{Duration, Instant};

use burn::nn::LinearConfig;
use burn::prelude::*;
use burn::tensor::activation::{log_softmax, relu};
use indicatif::{ProgressBar, ProgressStyle};
use pergrad::nn::Linear;
use pergrad::prelude::*;
use pergrad::{Optimizer, per_example_grads};
use plotters::prelude::*;

const BATCH: usize = 64;
const EPOCHS: usize = 60;
const TRAIN: usize = 1500;

/// Two linear layers. `pergrad::nn::Linear` has burn's fields and record; only its backward pass can be looked into.
#[derive(Module, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    fn new(device: &Device) -> Self {
        Self {
            hidden: Linear::new(&LinearConfig::new(64, 128), device),
            output: Linear::new(&LinearConfig::new(128, 10), device),
        }
    }

    fn forward(&self, images: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(images)))
    }

    /// One loss for each example, never their mean.
    fn losses(&self, images: Tensor<2>, labels: Tensor<1, Int>) -> Tensor<1> {
        let scores = log_softmax(self.forward(images), 1);
        -scores.gather(1, labels.unsqueeze_dim(1)).flatten(0, 1)
    }
}

/// Images `[N, 64]` with values from 0 to 1, and labels `[N]`.
#[derive(Clone)]
struct Digits {
    images: Tensor<2>,
    labels: Tensor<1, Int>,
}

impl Digits {
    /// The digits that smartcore ships, in a fixed shuffled order: the first for training, the rest for testing.
    fn load(device: &Device) -> (Self, Self) {
        let digits = smartcore::dataset::digits::load_dataset();
        let order = shuffled(digits.num_samples, 7);
        let part = |rows: &[usize]| {
            let pixel = |&row: &usize| digits.data[row * 64..(row + 1) * 64].iter();
            let pixels: Vec<f32> = rows.iter().flat_map(pixel).map(|&x| x / 16.0).collect();
            let labels: Vec<i64> = rows.iter().map(|&row| digits.target[row] as i64).collect();
            let images = TensorData::new(pixels, [rows.len(), 64]);
            Digits {
                images: Tensor::from_data(images, device),
                labels: Tensor::from_data(TensorData::new(labels, [rows.len()]), device),
            }
        };
        (part(&order[..TRAIN]), part(&order[TRAIN..]))
    }

    fn select(&self, rows: &[usize], device: &Device) -> Self {
        let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        let rows = TensorData::new(rows.clone(), [rows.len()]);
        let rows = Tensor::<1, Int>::from_data(rows, device);
        Digits {
            images: self.images.clone().select(0, rows.clone()),
            labels: self.labels.clone().select(0, rows),
        }
    }
}

/// A permutation of `0..n` by a small generator, so that every run sees the same batches.
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = seed;
    for at in (1..n).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(at, (state >> 33) as usize % (at + 1));
    }
    order
}

struct Run {
    name: &'static str,
    losses: Vec<f32>,
    accuracy: f32,
    time: Duration,
}

fn train(
    name: &'static str,
    mut optimizer: Optimizer,
    mut model: Mlp,
    (train, test): &(Digits, Digits),
    device: &Device,
    bar: &ProgressBar,
) -> Result<Run, pergrad::Error> {
    bar.set_message(name);
    let start = Instant::now();
    let mut losses = Vec::new();
    for epoch in 0..EPOCHS {
        for rows in shuffled(TRAIN, 100 + epoch as u64).chunks(BATCH) {
            let batch = train.select(rows, device);
            let (batch_losses, grads) =
                per_example_grads(&model, |m| m.losses(batch.images, batch.labels))?;
            model = optimizer.step(model, grads)?;
            losses.push(batch_losses.mean().into_scalar::<f32>());
            bar.inc(1);
        }
    }
    let time = start.elapsed();
    let guesses = model
        .forward(test.images.clone())
        .argmax(1)
        .flatten::<1>(0, 1);
    let right = guesses.equal(test.labels.clone()).float().mean();
    Ok(Run {
        name,
        losses,
        accuracy: right.into_scalar(),
        time,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let picture = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "quickstart.svg".to_owned());
    let device = Device::default().autodiff();
    device.seed(1);
    let model = Mlp::new(&device);
    let data = Digits::load(&device);

    // The same links in another order are another optimizer.
    let optimizers = [
        (
            "MicroSignSGD: sign, mean, ema",
            Optimizer::new(micro_sign_sgd(3e-3))?,
        ),
        (
            "SignSGD: mean, sign, ema",
            Optimizer::new(sign_sgd(1e-3).beta(0.9))?,
        ),
        ("SignEMA: mean, ema, sign", Optimizer::new(sign_ema(1e-3))?),
        ("Adam: square of the mean", Optimizer::new(adam(3e-3))?),
        (
            "MicroAdam: mean of the squares",
            Optimizer::new(micro_adam(3e-3))?,
        ),
    ];

    let steps = optimizers.len() * EPOCHS * TRAIN.div_ceil(BATCH);
    let bar = ProgressBar::new(steps as u64);
    bar.set_style(ProgressStyle::with_template(
        "{bar:40} {pos:>4}/{len} steps  {eta:>3} left  {msg}",
    )?);
    let mut runs = Vec::new();
    for (name, optimizer) in optimizers {
        runs.push(train(name, optimizer, model.clone(), &data, &device, &bar)?);
    }
    bar.finish_and_clear();

    println!(
        "{TRAIN} digits for training, {} for testing, {EPOCHS} epochs of batches of {BATCH}\n",
        data.1.labels.dims()[0]
    );
    println!(
        "{:<32} {:>9} {:>10} {:>8}",
        "optimizer", "test acc.", "last loss", "time"
    );
    for run in &runs {
        let tail = &run.losses[run.losses.len() - 24..];
        let loss = tail.iter().sum::<f32>() / tail.len() as f32;
        let (accuracy, time) = (100.0 * run.accuracy, run.time.as_secs_f32());
        println!(
            "{:<32} {accuracy:>8.1}% {loss:>10.4} {time:>7.1}s",
            run.name
        );
    }
    draw(&picture, &runs)?;
    println!("\nloss curves: {picture}");
    Ok(())
}

/// The smoothed loss of each run against the step.
fn draw(path: &str, runs: &[Run]) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, (900, 560)).into_drawing_area();
    root.fill(&WHITE)?;
    let steps = runs.iter().map(|run| run.losses.len()).max().unwrap_or(1);
    let mut chart = ChartBuilder::on(&root)
        .caption("8x8 digits: loss of each optimizer", ("sans-serif", 22))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(56)
        .build_cartesian_2d(0..steps, (0.0004_f32..3.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("step")
        .y_desc("training loss (smoothed, log scale)")
        .draw()?;
    let colors = [
        RGBColor(213, 94, 0),
        RGBColor(230, 159, 0),
        RGBColor(0, 158, 115),
        RGBColor(0, 114, 178),
        RGBColor(120, 60, 140),
    ];
    for (run, color) in runs.iter().zip(colors) {
        let mut smooth = run.losses[0];
        let points = run.losses.iter().enumerate().map(|(step, &loss)| {
            smooth += 0.1 * (loss - smooth);
            (step, smooth)
        });
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(run.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font(("monospace", 14))
        .draw()?;
    root.present()?;
    Ok(())
}
