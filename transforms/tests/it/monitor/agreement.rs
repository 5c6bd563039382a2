//! How the examples agree with each other, and with the update.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;

use super::{complaint, dot, metrics, noisy, number};
use crate::model::{batch, column, step, steps, w};
use crate::random::Random;
use crate::tolerance::assert_close;

/// Mean, least and share of negative ones.
fn cosines(input: &StepInput) -> [f64; 3] {
    let all = metrics(&monitor::cosine(), input);
    ["mean", "min", "negative"].map(|name| all[&format!("cosine.{name}")][0])
}

#[test]
fn the_cosines_are_a_loop_over_the_pairs() {
    let mut random = Random::new(111);
    for examples in [2, 3, 8] {
        let (input, rows) = noisy(&mut random, examples, 0.3);
        let mut all = Vec::new();
        for (b, x) in rows.iter().enumerate() {
            for y in &rows[..b] {
                all.push(dot(x, y) / (dot(x, x) * dot(y, y)).sqrt());
            }
        }
        let pairs = all.len() as f64;
        let negative = all.iter().filter(|c| **c < 0.0).count() as f64;
        let least = all.iter().copied().fold(INF, f64::min);
        let expected = [all.iter().sum::<f64>() / pairs, least, negative / pairs];
        assert_close::<f64>(&cosines(&input), &expected, "mean, min, negative");
    }
}

const INF: f64 = f64::INFINITY;

#[test]
fn the_cosines_at_their_edges() {
    assert!(cosines(&column(&[3.0])).iter().all(|x| x.is_nan()), "one");
    assert!(cosines(&column(&[])).iter().all(|x| x.is_nan()), "none");
    assert_eq!(cosines(&batch([[0.0; 2]; 3])), [0.0; 3], "zeros");
    // With an example of zeros the cosine is 0: of three pairs one is -1.
    let with_zeros = batch([[1.0, 0.0], [0.0, 0.0], [-2.0, 0.0]]);
    assert_close::<f64>(
        &cosines(&with_zeros),
        &[-1.0 / 3.0, -1.0, 1.0 / 3.0],
        "zeros",
    );
    let along = cosines(&batch([[1.0, 0.7], [2.0, 1.4], [0.3, 0.21]]));
    assert_close::<f64>(&along, &[1.0, 1.0, 0.0], "one direction");
}

#[test]
fn norms_that_underflow_in_f32_have_the_cosines_of_zeros() {
    let program = program(&chain((monitor::cosine(), mean()))).unwrap();
    let of = |values: &[f64]| {
        let output = step::<f32>(&program, &column(values));
        ["mean", "min", "negative"].map(|name| output.metrics[&format!("cosine.{name}")][0])
    };
    assert_eq!(of(&[1e-30, 2e-30, 1.0]), [0.0; 3]);
    assert_close::<f32>(&of(&[1e-18, 2e-18, 1.0]), &[1.0, 1.0, 0.0], "above");
    let of_f64 = cosines(&column(&[1e-30, 2e-30, 1.0]));
    assert_close::<f64>(&of_f64, &[1.0, 1.0, 0.0], "f64");
}

#[test]
fn the_cosines_show_what_is_not_finite() {
    for bad in [f64::NAN, INF] {
        let [mean, min, negative] = cosines(&batch([[1.0, bad], [3.0, 1.0], [-3.0, 1.0]]));
        assert!(mean.is_nan() && min.is_nan(), "{bad}: {mean} {min}");
        assert_close::<f64>(&[negative], &[1.0 / 3.0], "the pair of the others");
    }
}

fn share(
    chain: impl Transform<pergrad_transforms::PerExample, Out = pergrad_transforms::Aggregated>,
    input: &StepInput,
) -> f64 {
    number(&monitor::harm(chain), "harm.share", input)
}

#[test]
fn harm_is_a_loop_over_the_examples_at_every_step() {
    let mut random = Random::new(112);
    let batches: Vec<_> = (0..4).map(|_| noisy(&mut random, 8, 0.3)).collect();
    let inputs: Vec<_> = batches.iter().map(|(input, _)| input.clone()).collect();
    let program = program(&monitor::harm(micro_adam(0.1))).unwrap();
    let mut shares = Vec::new();
    for (output, (_, rows)) in steps::<f64>(&program, &inputs).iter().zip(&batches) {
        let update = [&output.updates["a"], &output.updates["w"]];
        let update = update.map(|leaf| leaf.values.clone()).concat();
        let harmed = rows.iter().filter(|row| dot(row, &update) > 0.0).count();
        shares.push(harmed as f64 / 8.0);
        assert_eq!(output.metrics["harm.share"], shares[shares.len() - 1..]);
    }
    assert!(shares.iter().sum::<f64>() > 0.2, "some are: {shares:?}");
}

/// To first order: a small step raises the quadratic loss of exactly these examples.
#[test]
fn harm_tells_whose_loss_rises() {
    // Of |p - t_b|^2 / 2 at p = 0, the gradients are -t_b.
    let targets = [[1.0, 0.2], [0.9, -0.4], [-0.8, 0.1], [0.1, 0.3]];
    let input = batch(targets.map(|t| t.map(|x| -x)));
    let program = program(&monitor::harm(sgd(1e-6))).unwrap();
    let output = step::<f64>(&program, &input);
    let rises = targets.iter().filter(|target| {
        let far = |p: &[f64]| -> f64 { p.iter().zip(*target).map(|(p, t)| (p - t).powi(2)).sum() };
        far(w(&output)) > far(&[0.0, 0.0])
    });
    assert_eq!(output.metrics["harm.share"], [rises.count() as f64 / 4.0]);
    assert_eq!(output.metrics["harm.share"], [0.25]);
}

#[test]
fn what_reduces_conflicts_reduces_harm() {
    let conflict = batch([[4.0, 0.1], [-1.0, 0.5]]);
    assert_eq!(share(sgd(0.1), &conflict), 0.5);
    assert_eq!(share(chain((upgrad(100), sgd(0.1))), &conflict), 0.0);
}

#[test]
fn harm_at_its_edges() {
    let input = batch([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [0.0, -1.0]]);
    let nothing = chain((mean(), scale(0.0)));
    assert_eq!(share(nothing, &input), 0.0, "an update of zeros");
    // The update is along the second axis: the first and the last example are at a right angle to it.
    let up = chain((sum(), sgd(1.0)));
    let right_angle = batch([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [-1.0, 0.0]]);
    assert_eq!(share(up, &right_angle), 0.0, "at a right angle, or zeros");
    // The whole optimizer: the mean alone points uphill.
    assert_eq!(share(mean(), &column(&[1.0, 2.0])), 1.0);
    assert_eq!(share(sgd(0.1), &column(&[1.0, 2.0])), 0.0);

    let bad = batch([[1.0, f64::NAN], [2.0, 1.0]]);
    let program = program(&monitor::harm(mean())).unwrap();
    let output = step::<f64>(&program, &bad);
    assert_eq!(output.metrics["harm.share"], [0.0]);
    assert!(w(&output)[1].is_nan(), "it shows");
    insta::assert_snapshot!(complaint(&monitor::harm(sum()), &column(&[])).unwrap(), @"`harm` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
}

#[test]
fn links_inside_harm_that_are_no_optimizer_are_refused() {
    use pergrad_transforms::spec::{Catalogue, ChainSpec};
    let json = r#"[{"link": "harm", "links": ["sign"]}]"#;
    let spec: ChainSpec = serde_json::from_str(json).unwrap();
    insta::assert_snapshot!(Catalogue::standard().build(&spec).unwrap_err(), @"the argument `links` of `harm` must be links that take the examples apart and give one update for each parameter, but it is sign()");
}
