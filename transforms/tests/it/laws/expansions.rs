//! Each optimizer of the shelf does what the chain does that its page gives for it, and so do the links that are chains of others.

use pergrad_transforms::prelude::*;
use pergrad_transforms::spec::{ChainSpec, LinkSpec};

use super::samples::{build, link};
use super::shelf::OPTIMIZERS;
use super::{data, whole_catalogue::assert_outputs};
use crate::model::steps;

fn assert_same(short: &ChainSpec, long: &ChainSpec) {
    let (short_program, long_program) = (build(short), build(long));
    let inputs = data::steps(&short_program, 4, 5, 3);
    let got = steps::<f64>(&short_program, &inputs);
    let expected = steps::<f64>(&long_program, &inputs);
    assert_outputs::<f64>(&got, &expected, &short.to_string());
}

fn spec(json: &str) -> ChainSpec {
    serde_json::from_str(json).unwrap()
}

#[test]
fn optimizers_are_the_chains_that_they_are_short_for() {
    for (json, expansion) in OPTIMIZERS {
        if !expansion.is_empty() {
            assert_same(&[link(json)].into_iter().collect(), &spec(expansion));
        }
    }
}

#[test]
fn optimizers_take_the_mean_where_the_examples_are_still_apart() {
    for (json, _) in OPTIMIZERS {
        let apart = [link(json)].into_iter().collect();
        let reduced = [LinkSpec::new("mean"), link(json)].into_iter().collect();
        assert_same(&apart, &reduced);
    }
}

/// The links that are named in the expansion of an optimizer whose values optax gives.
pub(super) fn names() -> Vec<String> {
    let chains = OPTIMIZERS.iter().filter(|(_, long)| !long.is_empty());
    let links = chains.flat_map(|(_, long)| spec(long).links);
    links.map(|LinkSpec { link, .. }| link).collect()
}

#[test]
fn links_are_the_chains_that_they_are_short_for() {
    for (short, long) in [
        (
            r#"["mean", {"link": "ema", "decay": 0.9}]"#,
            r#"["mean", {"link": "ema", "decay": 0.9, "debias": false}, {"link": "bias_correction", "decay": 0.9}]"#,
        ),
        (r#"["scale_by_sign", "mean"]"#, r#"["sign", "mean"]"#),
    ] {
        assert_same(&spec(short), &spec(long));
    }
}

#[test]
fn preconditioners_are_ratios_of_statistics() {
    for (short, long) in [
        (
            program(&chain((mean(), scale_by_rms().eps_in_sqrt(false)))),
            program(&chain((
                mean(),
                ratio(
                    identity(),
                    chain((square(), ema(0.9).debias(false), sqrt())),
                    1e-8,
                ),
            ))),
        ),
        (
            program(&chain((mean(), scale_by_rss().eps(0.0)))),
            program(&chain((
                mean(),
                ratio(
                    identity(),
                    chain((square(), running_sum().init(0.1), sqrt())),
                    0.0,
                ),
            ))),
        ),
        (
            program(&chain((mean(), scale_by_amsgrad()))),
            program(&chain((
                mean(),
                ratio(
                    ema(0.9),
                    chain((square(), ema(0.999), running_max(), sqrt())),
                    1e-8,
                ),
            ))),
        ),
    ] {
        let (short, long) = (short.unwrap(), long.unwrap());
        let inputs = data::steps(&short, 4, 5, 3);
        let (got, expected) = (steps::<f64>(&short, &inputs), steps::<f64>(&long, &inputs));
        assert_outputs::<f64>(&got, &expected, &long.to_string());
    }
}

#[test]
fn the_square_of_the_mean_is_the_second_moment_of_the_plain_optimizer() {
    let statistic = || mean().then(square());
    for (short, long) in [
        (
            program(&rmsprop(0.1)),
            program(&rmsprop_with_second_moment(0.1, statistic())),
        ),
        (
            program(&adagrad(0.1)),
            program(&adagrad_with_second_moment(0.1, statistic())),
        ),
        (
            program(&amsgrad(0.1)),
            program(&amsgrad_with_second_moment(0.1, statistic())),
        ),
    ] {
        let (short, long) = (short.unwrap(), long.unwrap());
        let inputs = data::steps(&short, 4, 5, 3);
        let (got, expected) = (steps::<f64>(&short, &inputs), steps::<f64>(&long, &inputs));
        assert_outputs::<f64>(&got, &expected, &long.to_string());
    }
}
