//! Noise scales in the course of training, and whether that of the normalization layers tells that of all.

use burn::tensor::Device;
use indicatif::ProgressBar;
use pergrad::prelude::*;
use pergrad::{Optimizer, per_example_grads};

use super::Settings;
use super::identities::number;
use super::watch::{GROUPS, Watch};
use crate::picture::{Picture, Scale};
use crate::random::Random;
use crate::sample::Line;
use crate::table::Table;
use crate::text::Text;
use crate::transformer::Transformer;

/// The noise scale of a group, step by step.
#[derive(Clone, Debug)]
pub struct Track {
    /// The group, of [`GROUPS`].
    pub group: &'static str,
    /// The decay of its averages.
    pub decay: f64,
    /// The scales, infinite where no signal was seen.
    pub scales: Vec<f64>,
}

/// Trains with Adam and watches. The tracks come decay by decay, each in the order of [`GROUPS`].
///
/// # Errors
/// A text or a model that is refused, and what the optimizer says.
pub fn run(
    settings: &Settings,
    bar: &ProgressBar,
) -> Result<Vec<Track>, Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let text = Text::load(&settings.text)?;
    let mut model = Transformer::new(&settings.model, text.vocabulary(), settings.seed, &device)?;
    let mut random = Random::new(settings.seed);
    let watch = Watch::all(&settings.decays);
    let mut optimizer = Optimizer::new(chain((watch, adam(settings.learning_rate))))?;
    let decays = settings.decays.iter();
    let tracks = decays.flat_map(|&decay| {
        GROUPS.map(|group| Track {
            group,
            decay,
            scales: Vec::new(),
        })
    });
    let mut tracks: Vec<Track> = tracks.collect();
    bar.set_message("noise scales");
    for _ in 0..settings.steps {
        let batch = text.batch(settings.batch, settings.model.context, &mut random, &device)?;
        let (_, grads) = per_example_grads(&model, |m| m.losses(batch))?;
        model = optimizer.step(model, grads)?;
        let metrics = optimizer.metrics()?;
        for (at, track) in tracks.iter_mut().enumerate() {
            let name = format!("{}_{}.scale", track.group, at / GROUPS.len());
            track.scales.push(number(&metrics, &name));
        }
        bar.inc(1);
    }
    Ok(tracks)
}

/// The points (scale of a group, scale of all) of the steps that count.
fn points<'a>(
    settings: &Settings,
    group: &'a Track,
    total: &'a Track,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let scales = group
        .scales
        .iter()
        .copied()
        .zip(total.scales.iter().copied());
    scales.skip(settings.skip)
}

/// For each decay the scale of all layers.
fn total<'a>(tracks: &'a [Track], of: &Track) -> &'a Track {
    let mut tracks = tracks.iter();
    let found = tracks.find(|track| track.group == GROUPS[0] && track.decay == of.decay);
    found.expect("all layers are watched with every decay")
}

/// The regressions of the scale of all layers on that of each group.
pub(super) fn table(settings: &Settings, tracks: &[Track]) -> Table {
    let title = format!(
        "Noise scale of all layers against that of a type of layer, steps {} to {}",
        settings.skip, settings.steps
    );
    let columns = [
        "layers",
        "decay",
        "median",
        "last",
        "slope",
        "intercept",
        "correlation",
        "of logarithms",
        "of their changes",
    ];
    let mut table = Table::new(title, &columns);
    for track in tracks {
        let total = total(tracks, track);
        let line = Line::through(points(settings, track, total));
        let logs = points(settings, track, total).map(|(x, y)| (x.ln(), y.ln()));
        let logs: Vec<_> = logs.collect();
        // Two numbers that both grow go together; their changes from step to step need not.
        let pairs = logs.windows(2);
        let changes = pairs.map(|w| (w[1].0 - w[0].0, w[1].1 - w[0].1));
        let correlation = |points| Line::through(points).map_or(f64::NAN, |it| it.correlation);
        let changes = correlation(changes.collect::<Vec<_>>());
        let logs = correlation(logs);
        let mut sorted: Vec<f64> = track.scales[settings.skip..].to_vec();
        sorted.sort_by(f64::total_cmp);
        table.row([
            track.group.into(),
            track.decay.into(),
            sorted[sorted.len() / 2].into(),
            track.scales[settings.steps - 1].into(),
            line.map_or(f64::NAN, |line| line.slope).into(),
            line.map_or(f64::NAN, |line| line.intercept).into(),
            line.map_or(f64::NAN, |line| line.correlation).into(),
            logs.into(),
            changes.into(),
        ]);
    }
    table
}

/// The scale of all layers over that of the normalization layers, a cloud for each decay.
pub(super) fn scatter(settings: &Settings, tracks: &[Track]) -> Picture {
    let mut picture = Picture::new(
        "norm_layers",
        "Noise scale of all layers against that of the normalization layers alone",
        Scale::log("noise scale of normalization layers (examples)"),
        Scale::log("noise scale of all layers (examples)"),
    );
    for track in tracks.iter().filter(|track| track.group == "norm") {
        let points = points(settings, track, total(tracks, track));
        picture.cloud(format!("decay {}", track.decay), points.collect());
    }
    picture
}

/// What the regressions on the normalization layers say, a sentence for each decay.
pub(super) fn findings(settings: &Settings, tracks: &[Track]) -> Vec<String> {
    let norms = tracks.iter().filter(|track| track.group == "norm");
    let sentences = norms.filter_map(|track| {
        let line = Line::through(points(settings, track, total(tracks, track)))?;
        Some(format!(
            "Decay {}: the noise scale of all layers is about {:.2} times that of the normalization layers plus {:.1}, with a correlation of {:.3}. The paper: the normalization layers are sufficient",
            track.decay, line.slope, line.intercept, line.correlation
        ))
    });
    sentences.collect()
}
