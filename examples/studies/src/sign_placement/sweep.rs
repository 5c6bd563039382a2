//! Each chain trained over a grid of learning rates.
//!
//! The chains are not written down here: they are every legal position of `sign` in `mean, ema`, as
//! [`placements`] lists them, each with a learning rate behind it, and `mean, ema` itself.

use std::error::Error;

use burn::tensor::{Device, Int, Tensor};
use pergrad::transforms::placement::SignPlacement;
use pergrad::transforms::schedule::cosine_decay_schedule;
use pergrad::transforms::spec::{Catalogue, ChainSpec, LinkSpec, placements};
use pergrad::{Optimizer, per_example_grads};

use super::{Course, PLACES, Place, Settings, number};
use crate::random::Random;
use crate::transformer::Transformer;

/// A curve has about so many points.
const POINTS: usize = 20;

/// Sequences for a validation loss.
const HELD_OUT: usize = 256;

/// The chain of a place, without its learning rate.
///
/// # Errors
/// A decay that is not at least 0 and below 1.
pub fn spec(place: SignPlacement, beta: f64) -> Result<ChainSpec, pergrad::transforms::Error> {
    // Without the correction of its start, as the paper's: a sign behind it does not see the difference.
    let average = LinkSpec::new("ema")
        .with("decay", beta)
        .with("debias", false);
    let rest = ChainSpec {
        links: vec![LinkSpec::new("mean"), average],
    };
    let sign = LinkSpec::new("sign");
    let found = placements(&sign, &rest, &Catalogue::standard())?;
    let position = match place {
        SignPlacement::MicroSign => 0,
        SignPlacement::Sign => 1,
        SignPlacement::SignEma => 2,
        SignPlacement::NoSign => return Ok(rest),
    };
    let mut found = found.into_iter();
    let placement = found.find(|placement| placement.position == position);
    Ok(placement.expect("all three positions are legal").chain)
}

/// A chain with its learning rate.
///
/// # Errors
/// A learning rate that makes no sense.
pub fn optimizer(chain: &ChainSpec, rate: f64) -> Result<Optimizer, pergrad::Error> {
    let mut chain = chain.clone();
    let step = LinkSpec::new("scale_by_learning_rate").with("learning_rate", rate);
    chain.links.push(step);
    Optimizer::from_dyn(&Catalogue::standard().build(&chain)?)
}

/// A training under way.
pub struct Training {
    model: Transformer,
    optimizer: Optimizer,
    random: Random,
    held_out: Tensor<2, Int>,
    device: Device,
    step: usize,
}

impl Training {
    /// A training from these weights. Each `repeat` has other batches; the same for all chains.
    ///
    /// # Errors
    /// A text that is too short, or a learning rate that makes no sense.
    pub fn new(
        at: &Place<'_>,
        model: Transformer,
        chain: &ChainSpec,
        rate: f64,
        repeat: u64,
    ) -> Result<Self, Box<dyn Error>> {
        let plain = Device::default();
        let context = at.settings.model.context;
        let mut optimizer = optimizer(chain, rate)?;
        if at.settings.schedule == Course::Cosine {
            let steps = u64::try_from(at.settings.steps)?;
            optimizer.set_hyper("learning_rate", cosine_decay_schedule(rate, steps))?;
        }
        Ok(Self {
            model,
            optimizer,
            random: at.settings.random(1000 + repeat),
            held_out: at.text.validation(HELD_OUT, context, &plain)?,
            device: plain.autodiff(),
            step: 0,
        })
    }

    /// Trains up to this step.
    ///
    /// # Errors
    /// A text that is too short.
    pub fn run_to(&mut self, at: &Place<'_>, step: usize) -> Result<(), Box<dyn Error>> {
        let (examples, context) = (at.settings.batch, at.settings.model.context);
        while self.step < step {
            let batch = at
                .text
                .batch(examples, context, &mut self.random, &self.device)?;
            let (_, grads) = per_example_grads(&self.model, |m| m.losses(batch))?;
            self.model = self.optimizer.step(self.model.clone(), grads)?;
            self.step += 1;
            at.bar.inc(1);
        }
        Ok(())
    }

    /// The weights as they are.
    pub fn model(&self) -> &Transformer {
        &self.model
    }

    /// The mean loss of sequences that are not trained on.
    pub fn validation_loss(&self) -> f64 {
        use burn::module::Module;
        let model = self.model.clone().valid();
        let losses = model.losses(self.held_out.clone());
        f64::from(losses.mean().into_scalar::<f32>())
    }
}

/// One training, once it is over.
#[derive(Clone, Debug)]
pub struct Run {
    /// The learning rate.
    pub rate: f64,
    /// Validation losses after some steps.
    pub curve: Vec<(usize, f64)>,
}

impl Run {
    /// The last validation loss; infinite where it is no number.
    pub fn last(&self) -> f64 {
        let (_, last) = *self.curve.last().expect("a curve has its start");
        if last.is_nan() { f64::INFINITY } else { last }
    }
}

/// All trainings of a chain.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The place of its sign.
    pub place: SignPlacement,
    /// The chain as text, without its learning rate.
    pub chain: String,
    /// One for each learning rate, with the same batches.
    pub runs: Vec<Run>,
    /// The last losses of further runs with the best learning rate, each with other batches.
    pub repeats: Vec<f64>,
}

impl Trained {
    /// The training of the least last loss.
    pub fn best(&self) -> &Run {
        let runs = self.runs.iter();
        let best = runs.min_by(|a, b| a.last().total_cmp(&b.last()));
        best.expect("at least one learning rate")
    }

    /// The mean of the repeated last losses, and their standard deviation, 0 for one.
    pub fn loss(&self) -> (f64, f64) {
        let count = number(self.repeats.len());
        let mean = self.repeats.iter().sum::<f64>() / count;
        let squares = self.repeats.iter().map(|loss| (loss - mean).powi(2));
        let variance = squares.sum::<f64>() / (count - 1.0).max(1.0);
        (mean, variance.sqrt())
    }
}

/// All trainings of all chains, in the order of [`PLACES`].
#[derive(Clone, Debug)]
pub struct AllTrained(pub Vec<Trained>);

impl AllTrained {
    /// The learning rate of the least loss.
    pub fn best_rate(&self, place: SignPlacement) -> f64 {
        let mut all = self.0.iter();
        let found = all.find(|trained| trained.place == place);
        found.expect("every place is trained").best().rate
    }
}

/// How many steps of the progress bar the parts on text have.
pub(super) fn work(settings: &Settings) -> usize {
    let trainings = PLACES.len() * (settings.rates + settings.repeats) + 1;
    trainings * settings.steps + 2 * settings.at_rest
}

/// Trains each chain with each learning rate, and the best one again.
///
/// # Errors
/// A text that is too short.
pub fn train_all(at: &Place<'_>, model: &Transformer) -> Result<AllTrained, Box<dyn Error>> {
    let mut all = Vec::new();
    for place in PLACES {
        at.bar.set_message(super::name(place));
        let chain = spec(place, at.settings.beta)?;
        let mut runs = Vec::new();
        for rate in at.settings.rates(place) {
            runs.push(train(at, model, &chain, rate, 0)?);
        }
        let mut trained = Trained {
            place,
            chain: chain.to_string(),
            runs,
            repeats: Vec::new(),
        };
        let best = trained.best().clone();
        // Not the run that was chosen because it came out low.
        for repeat in (1..).take(at.settings.repeats) {
            let again = train(at, model, &chain, best.rate, repeat)?;
            trained.repeats.push(again.last());
        }
        all.push(trained);
    }
    Ok(AllTrained(all))
}

fn train(
    at: &Place<'_>,
    model: &Transformer,
    chain: &ChainSpec,
    rate: f64,
    repeat: u64,
) -> Result<Run, Box<dyn Error>> {
    let steps = at.settings.steps;
    let mut training = Training::new(at, model.clone(), chain, rate, repeat)?;
    let mut curve = vec![(0, training.validation_loss())];
    for point in 1..=POINTS.min(steps) {
        let step = steps * point / POINTS.min(steps);
        training.run_to(at, step)?;
        curve.push((step, training.validation_loss()));
    }
    Ok(Run { rate, curve })
}
