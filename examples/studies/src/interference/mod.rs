//! Updates that raise the loss of fewer examples (after Avranas, arXiv 2607.16261).
//!
//! The paper moves the update of SGD or AdamW so that it raises the loss of fewer examples of the batch, by a problem in as many numbers
//! as the batch has examples, which it takes from the last linear layer; it reports less interference and better generalization on
//! images, at a cost that falls with the size of the network. [`reduce_interference`](pergrad::prelude::reduce_interference) is a
//! formulation of our own of that idea. The study trains a small network on few digits, moved and blurred, with and without it.
//!
//! Only one thing is certain in advance: to first order and on the last layer, an unlimited `lambda` and enough iterations leave no
//! harm. Whether the loss of fewer examples really rises, and whether the network is better for it, is measured.

pub mod arm;
pub mod course;
mod overhead;
mod summary;

use std::path::PathBuf;

use burn::tensor::Device;
use serde::Serialize;

use crate::digits::{Augment, Digits, DigitsSettings};
use crate::progress;
use crate::refused::{Refused, at_least_one, positive, within};
use crate::report::Report;
use arm::{Arm, Base, Rates};
use course::{Course, Outcome};
use summary::Trained;

/// Updates that harm fewer examples of a batch, with SGD and AdamW (after arXiv 2607.16261).
#[derive(Clone, Debug, clap::Parser, Serialize)]
#[command(mut_arg("train", |train| train.default_value("300")))]
pub struct Settings {
    /// The images.
    #[command(flatten)]
    pub digits: DigitsSettings,
    /// How they are changed.
    #[command(flatten)]
    pub augment: Augment,
    /// The channels of the first convolution
    #[arg(long, default_value_t = 8)]
    pub width: usize,
    /// The examples of a batch
    #[arg(long, default_value_t = 30)]
    pub batch: usize,
    /// How often all images are shown
    #[arg(long, default_value_t = 40)]
    pub epochs: usize,
    /// The learning rate of SGD, whose momentum is 0.9
    #[arg(long, default_value_t = 0.02)]
    pub sgd_rate: f64,
    /// The learning rate of AdamW
    #[arg(long, default_value_t = 3e-3)]
    pub adamw_rate: f64,
    /// The weight decay of AdamW
    #[arg(long, default_value_t = 1e-2)]
    pub weight_decay: f64,
    /// How far updates are moved, in units of their length; `inf` is without limit
    #[arg(long, value_delimiter = ',', default_values_t = [0.5, 2.0, f64::INFINITY])]
    #[serde(serialize_with = "in_words")]
    pub lambdas: Vec<f64>,
    /// The iterations of the solver in the comparison
    #[arg(long, default_value_t = 30)]
    pub iterations: usize,
    /// The iterations that are compared, for SGD and an infinite lambda, and whose time is taken
    #[arg(long, value_delimiter = ',', default_values_t = [3, 10, 30, 100])]
    pub sweep: Vec<usize>,
    /// The widths whose time is taken
    #[arg(long, value_delimiter = ',', default_values_t = [4, 8, 16, 32, 64])]
    pub widths: Vec<usize>,
    /// How often each time is taken
    #[arg(long, default_value_t = 21)]
    pub repetitions: usize,
    /// How many seeds are trained
    #[arg(long, default_value_t = 8)]
    pub seeds: usize,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The folder for the numbers and pictures
    #[arg(long, default_value = "target/studies")]
    #[serde(skip)]
    pub out: PathBuf,
}

impl Settings {
    /// A few steps, for tests.
    pub fn tiny() -> Self {
        Self {
            digits: DigitsSettings::of(48),
            augment: Augment {
                shift: 1,
                noise: 0.1,
            },
            width: 2,
            batch: 16,
            epochs: 2,
            sgd_rate: 0.05,
            adamw_rate: 1e-2,
            weight_decay: 1e-2,
            lambdas: vec![1.0],
            iterations: 10,
            sweep: vec![3],
            widths: vec![2],
            repetitions: 1,
            seeds: 2,
            seed: 1,
            out: "target/studies".into(),
        }
    }

    fn check(&self) -> Result<(), Refused> {
        at_least_one([
            ("width", self.width),
            ("batch", self.batch),
            ("epochs", self.epochs),
            ("seeds", self.seeds),
            ("repetitions", self.repetitions),
            ("iterations", self.iterations),
            ("widths", self.widths.iter().copied().min().unwrap_or(0)),
            ("sweep", self.sweep.iter().copied().min().unwrap_or(0)),
        ])?;
        positive("sgd-rate", self.sgd_rate)?;
        positive("adamw-rate", self.adamw_rate)?;
        let (decay, noise) = (self.weight_decay, self.augment.noise);
        let finite = |x: f64| x >= 0.0 && x.is_finite();
        within(
            "weight-decay",
            "a finite number of at least 0",
            decay,
            finite(decay),
        )?;
        within(
            "noise",
            "a finite number of at least 0",
            noise,
            finite(noise),
        )?;
        for &lambda in &self.lambdas {
            // 0 is the plain optimizer, which is there anyway.
            within("lambdas", "above 0 (inf is allowed)", lambda, lambda > 0.0)?;
        }
        Ok(())
    }

    /// The learning rates and the weight decay.
    pub fn rates(&self) -> Rates {
        Rates {
            sgd: self.sgd_rate,
            adamw: self.adamw_rate,
            weight_decay: self.weight_decay,
        }
    }

    /// How a network is trained.
    pub fn course(&self) -> Course {
        Course {
            width: self.width,
            batch: self.batch,
            epochs: self.epochs,
            augment: self.augment,
        }
    }

    fn arms(&self, base: Base) -> Vec<Arm> {
        let plain = Arm {
            iterations: self.iterations,
            ..Arm::plain(base)
        };
        let mut arms = vec![plain];
        arms.extend(self.lambdas.iter().map(|&lambda| plain.lambda(lambda)));
        let Some(most) = self.lambdas.iter().copied().reduce(f64::max) else {
            return arms;
        };
        let further = plain.lambda(most);
        arms.push(Arm {
            only_layer: true,
            ..further
        });
        if base == Base::AdamW {
            arms.push(Arm {
                preconditioned: true,
                ..further
            });
        }
        arms
    }
}

/// JSON has no infinity.
fn in_words<S: serde::Serializer>(lambdas: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lambdas.iter().map(f64::to_string))
}

/// Runs the study.
///
/// # Errors
/// Settings that make no study, each with what would do, and a file that holds no images.
pub fn run(settings: &Settings) -> Result<Report, Box<dyn std::error::Error>> {
    settings.check()?;
    let device = Device::default().autodiff();
    let (train, test) = Digits::load(&settings.digits)?;
    let arms: Vec<Vec<Arm>> = Base::ALL.iter().map(|&b| settings.arms(b)).collect();
    let count = arms.iter().map(Vec::len).sum::<usize>() + settings.sweep.len();
    let bar = progress::bar(count * settings.seeds * settings.epochs);
    let train_all = |arm: Arm| -> Result<Trained, Box<dyn std::error::Error>> {
        bar.set_message(format!("{}: {}", arm.base.name(), arm.describe()));
        let seeds = settings.seed..settings.seed + settings.seeds as u64;
        let outcomes = seeds.map(|seed| {
            let optimizer = arm.optimizer(settings.rates())?;
            let course = settings.course();
            course.run(optimizer, (&train, &test), (seed, &device), &bar)
        });
        let outcomes: Vec<Outcome> = outcomes.collect::<Result<_, _>>()?;
        Ok(Trained { arm, outcomes })
    };
    let mut report = Report::new("interference", settings);
    for arms in &arms {
        let trained = arms.iter().map(|&arm| train_all(arm));
        let trained: Vec<Trained> = trained.collect::<Result<_, _>>()?;
        report.tables.push(summary::harm(&trained));
        report.tables.push(summary::quality(&trained));
        report.pictures.push(summary::picture(&trained));
        report.findings.extend(summary::findings(&trained));
    }
    let swept = settings.sweep.iter().map(|&iterations| {
        let arm = Arm::plain(Base::Sgd).lambda(f64::INFINITY);
        train_all(Arm { iterations, ..arm })
    });
    let swept: Vec<Trained> = swept.collect::<Result<_, _>>()?;
    report.tables.push(summary::sweep(&swept));
    bar.finish_and_clear();
    let sizes = (&settings.widths[..], &settings.sweep[..]);
    let repetitions = (settings.batch, settings.repetitions);
    let times = overhead::table(&train, sizes, repetitions, &device)?;
    report.tables.push(times);
    Ok(report)
}
