//! What the study prints and draws.

use pergrad::transforms::placement::{PlacementSnr, SignPlacement};

use super::known_noise::{NoiseSettings, Ratio};
use super::measured::Whole;
use super::predicted::Moment;
use super::sweep::AllTrained;
use super::{PLACES, Settings, name, number, ratio};
use crate::picture::{Picture, Scale};
use crate::report::Report;
use crate::table::{Entry, Table};
use crate::text::Text;

/// Predicted beside measured, as a table and two pictures.
pub(super) fn known_noise(report: &mut Report, settings: &NoiseSettings, ratios: &[Ratio]) {
    let mut table = Table::new(
        "Known noise: signal-to-noise ratio of the update, predicted | measured",
        &[
            "B", "beta", "r", "Micro", "|", "Sign", "|", "SignEMA", "|", "no sign", "|",
        ],
    );
    let settings_of = |x: &Ratio| (x.batch, x.beta, x.r);
    for first in ratios.iter().filter(|x| x.place == PLACES[0]) {
        let of = |place| {
            let mut all = ratios.iter();
            let found = all.find(|x| settings_of(x) == settings_of(first) && x.place == place);
            found.expect("each chain has all settings")
        };
        let [micro, sign, sign_ema, no_sign] = PLACES.map(of);
        table.row([
            first.batch.into(),
            first.beta.into(),
            first.r.into(),
            micro.predicted.into(),
            micro.measured.into(),
            sign.predicted.into(),
            sign.measured.into(),
            sign_ema.predicted.into(),
            sign_ema.measured.into(),
            no_sign.predicted.into(),
            no_sign.measured.into(),
        ]);
    }
    report.tables.push(table);

    let finite = ratios.iter().filter(|x| x.error.is_finite());
    let apart = finite.map(|x| (x.measured - x.predicted).abs() / x.error);
    let apart: Vec<f64> = apart.collect();
    let within = apart.iter().filter(|z| **z <= 2.0).count();
    let most = apart.iter().copied().fold(0.0, f64::max);
    report.findings.push(format!(
        "known noise: {within} of {} ratios are within two standard errors of the closed form, and the farthest is {most:.1} away",
        apart.len()
    ));

    let mut picture = Picture::new(
        "known_noise",
        "Signal-to-noise ratio of the update",
        Scale::log("predicted"),
        Scale::log("measured"),
    );
    for place in PLACES {
        let of = ratios.iter().filter(|x| x.place == place);
        let points = of.map(|x| (x.predicted, x.measured));
        picture.cloud(name(place), points.collect());
    }
    let seen = ratios.iter().filter(|x| x.measured.is_finite());
    let all = seen.map(|x| x.predicted).filter(|x| *x > 0.0);
    let (low, high) = all.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), x| {
        (l.min(x), h.max(x))
    });
    picture.line("equal", vec![(low, low), (high, high)]);
    report.pictures.push(picture);

    let r = settings.noise_ratios[settings.noise_ratios.len() / 2];
    let beta = settings.noise_betas[settings.noise_betas.len() - 1];
    let mut picture = Picture::new(
        "batch",
        format!("Ratio of the update for r = {r}, beta = {beta}: lines predicted, dots measured"),
        Scale::log("examples in a batch"),
        Scale::log("signal-to-noise ratio of the update"),
    );
    let most = settings.noise_batches.iter().copied().max().unwrap_or(1);
    for place in PLACES {
        let batches = (0..=16).map(|i| number(most).powf(number(i) / 16.0));
        let line = batches.map(|b| {
            let b = b.round().max(1.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // up to `most`
            let snr = PlacementSnr::new(r, b as usize, beta);
            (b, ratio(&snr, place))
        });
        picture.line(name(place), line.collect());
    }
    for place in PLACES {
        let of = ratios.iter().filter(|x| x.place == place);
        let of = of.filter(|x| x.r == r && x.beta == beta);
        let points = of.map(|x| (number(x.batch), x.measured));
        picture.cloud(name(place), points.collect());
    }
    report.pictures.push(picture);
}

/// What is predicted along the training, and of each leaf.
pub(super) fn course(report: &mut Report, settings: &Settings, course: &[Moment]) {
    // The median of the absolute value of a normal number.
    let floor = 0.6745 / number(settings.measured).sqrt();
    let mut table = Table::new(
        format!(
            "Transformer: predicted ratios along a training of SignEMA, in the median coordinate and of the whole update (w.); \
             B = {}, beta = {}.\nFrom {} sequences, of which noise without signal has a median r of {floor:.4}",
            settings.batch, settings.beta, settings.measured
        ),
        &[
            "step",
            "loss",
            "median r",
            "Micro",
            "Sign",
            "SignEMA",
            "no sign",
            "w.Micro",
            "w.Sign",
            "w.SignEMA",
            "w.no sign",
        ],
    );
    for moment in course {
        let total = &moment.predicted.total;
        let [micro, sign, sign_ema, no_sign] = ratios(&total.typical);
        let [w_micro, w_sign, w_sign_ema, w_no_sign] = ratios(&total.whole);
        table.row([
            moment.step.into(),
            moment.loss.into(),
            total.quantile(0.5).into(),
            micro,
            sign,
            sign_ema,
            no_sign,
            w_micro,
            w_sign,
            w_sign_ema,
            w_no_sign,
        ]);
    }
    report.tables.push(table);

    let (first, last) = (&course[0], &course[course.len() - 1]);
    let mut table = Table::new(
        format!(
            "Transformer: predicted ratios in the median coordinate of each leaf, at the start and after {} steps",
            last.step
        ),
        &[
            "leaf", "size", "r, start", "Micro", "Sign", "SignEMA", "r, end", "Micro", "Sign",
            "SignEMA",
        ],
    );
    let leaves = first.predicted.leaves.iter().zip(&last.predicted.leaves);
    for ((path, start), (_, end)) in leaves {
        let [micro, sign, sign_ema, _] = ratios(&start.typical);
        let [end_micro, end_sign, end_sign_ema, _] = ratios(&end.typical);
        table.row([
            path.as_str().into(),
            (start.coordinates + start.silent).into(),
            start.quantile(0.5).into(),
            micro,
            sign,
            sign_ema,
            end.quantile(0.5).into(),
            end_micro,
            end_sign,
            end_sign_ema,
        ]);
    }
    report.tables.push(table);
}

fn ratios(snr: &PlacementSnr) -> [Entry; 4] {
    PLACES.map(|place| ratio(snr, place).into())
}

/// Whole updates at rest.
pub(super) fn at_rest(
    report: &mut Report,
    settings: &Settings,
    course: &[Moment],
    at_rest: &[Whole],
) {
    let mut table = Table::new(
        format!(
            "Transformer: ratio of the whole update at the initial weights, which rest for {} steps",
            settings.at_rest
        ),
        &["chain", "predicted", "measured"],
    );
    for whole in at_rest {
        let predicted = ratio(&course[0].predicted.total.whole, whole.place);
        table.row([name(whole.place).into(), predicted.into(), whole.snr.into()]);
    }
    report.tables.push(table);
}

/// The losses over learning rates and steps.
pub(super) fn sweep(report: &mut Report, settings: &Settings, text: &Text, trained: &AllTrained) {
    let floor = text.entropy_rate();
    let floor_text = floor.map_or_else(String::new, |rate| {
        format!("; no model can be below {rate:.4}")
    });
    let mut table = Table::new(
        format!(
            "Transformer: validation loss after {} steps (the learning rate of `no sign` is {} times as large){floor_text}",
            settings.steps, settings.no_sign_factor
        ),
        &[
            "learning rate",
            "MicroSignSGD",
            "SignSGD",
            "SignEMA",
            "no sign",
        ],
    );
    for (at, rate) in settings.rates(SignPlacement::Sign).into_iter().enumerate() {
        let loss = |place: usize| Entry::Number(trained.0[place].runs[at].last());
        table.row([rate.into(), loss(0), loss(1), loss(2), loss(3)]);
    }
    report.tables.push(table);

    let mut picture = Picture::new(
        "rates",
        format!("Validation loss after {} steps", settings.steps),
        Scale::log(format!(
            "learning rate (of `no sign` divided by {})",
            settings.no_sign_factor
        )),
        Scale::linear("loss in nats for each token, where it fell"),
    );
    for trained in &trained.0 {
        let rates = settings.rates(SignPlacement::Sign);
        // A run that ends above its start has diverged, and would leave no room for the others.
        let losses = trained.runs.iter().map(|run| {
            let (_, start) = run.curve[0];
            if run.last() <= start {
                run.last()
            } else {
                f64::NAN
            }
        });
        picture.line(name(trained.place), rates.into_iter().zip(losses).collect());
    }
    report.pictures.push(picture);

    let mut picture = Picture::new(
        "steps",
        "Validation loss with the best learning rate of each chain",
        Scale::linear("step"),
        Scale::linear("loss in nats for each token"),
    );
    for trained in &trained.0 {
        let best = trained.best();
        let points = best.curve.iter().map(|(step, loss)| (number(*step), *loss));
        let label = format!("{}, {}", name(trained.place), Entry::Number(best.rate));
        picture.line(label, points.collect());
    }
    if let Some(rate) = floor {
        let steps = number(settings.steps);
        picture.line("entropy rate", vec![(0.0, rate), (steps, rate)]);
    }
    report.pictures.push(picture);
}

/// The order that was predicted beside that of the losses.
pub(super) fn order(
    report: &mut Report,
    course: &[Moment],
    at_rest: &[Whole],
    trained: &AllTrained,
) {
    let (first, last) = (
        &course[0].predicted.total,
        &course[course.len() - 1].predicted.total,
    );
    let typical = ranks(PLACES.map(|place| -ratio(&first.typical, place)));
    let late = ranks(PLACES.map(|place| -ratio(&last.typical, place)));
    let whole = ranks(PLACES.map(|place| -ratio(&first.whole, place)));
    let rest = ranks([0, 1, 2, 3].map(|at: usize| -at_rest[at].snr));
    let losses = [0, 1, 2, 3].map(|at: usize| trained.0[at].loss());
    let observed = ranks(losses.map(|(mean, _)| mean));
    let mut table = Table::new(
        "Transformer: rank of each chain, predicted and observed (1 is best)",
        &[
            "chain",
            "median, start",
            "median, end",
            "whole, start",
            "whole, measured",
            "loss",
            "best rate",
            "mean loss",
            "std",
        ],
    );
    for (at, one) in trained.0.iter().enumerate() {
        let (mean, std) = losses[at];
        table.row([
            format!("{}: {}", name(one.place), one.chain).into(),
            typical[at].into(),
            late[at].into(),
            whole[at].into(),
            rest[at].into(),
            observed[at].into(),
            one.best().rate.into(),
            mean.into(),
            std.into(),
        ]);
    }
    report.tables.push(table);

    for (what, ranks) in [
        ("predicted at the start, median coordinate", typical),
        ("predicted at the start, whole update", whole),
        ("measured at the start, whole update", rest),
    ] {
        let order = by_rank(ranks).map(|at| name(PLACES[at])).join(", ");
        report.findings.push(format!("best first, {what}: {order}"));
    }
    let mut order = String::new();
    let mut last: Option<(f64, f64)> = None;
    for at in by_rank(observed) {
        let (mean, std) = losses[at];
        let apart = last.map(|(before, its)| mean - before > std.hypot(its));
        order.push_str(match apart {
            None => "",
            Some(true) => ", ",
            Some(false) => " ~ ",
        });
        order.push_str(name(PLACES[at]));
        last = Some((mean, std));
    }
    report.findings.push(format!(
        "best first, least loss: {order} (~: closer than the standard deviations over batches tell apart)"
    ));
    for one in &trained.0 {
        let rates = [&one.runs[0], &one.runs[one.runs.len() - 1]].map(|run| run.rate);
        if rates.contains(&one.best().rate) {
            report.findings.push(format!(
                "the best learning rate of {} is at the edge of the grid: a wider one may give less",
                name(one.place)
            ));
        }
    }
}

/// The positions, that of rank 1 first; of equal ranks as they stand.
fn by_rank(ranks: [usize; 4]) -> [usize; 4] {
    let mut order = [0, 1, 2, 3];
    order.sort_by_key(|at| ranks[*at]);
    order
}

/// 1 for the least.
fn ranks(values: [f64; 4]) -> [usize; 4] {
    values.map(|x| 1 + values.iter().filter(|y| **y < x).count())
}
