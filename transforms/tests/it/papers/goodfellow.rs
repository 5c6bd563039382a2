//! Goodfellow, arXiv 1510.01799: norms and reweighting of per-example gradients of a dense layer.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;
use pergrad_transforms::{PerExample, Tracer, Transform, Value};

use crate::model::{add_leaf, step, w};
use crate::random::Random;
use crate::tolerance::assert_close;

/// Gives out the squared norm of each example and the product of each pair, over all leaves and for each.
#[derive(Clone, Debug)]
struct Norms;

impl Transform<PerExample> for Norms {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        cx.emit("all", &x.sq_norm());
        cx.emit("leaf", &x.leaf_sq_norm());
        cx.emit("pairs", &x.gram());
        cx.emit("leaf_pairs", &x.leaf_gram());
        x
    }
}

/// Per-example gradients of weight and bias of a dense layer, from inputs `a[b][t]` and output gradients `d[b][t]`.
fn dense_layer(a: &[Vec<Vec<f64>>], d: &[Vec<Vec<f64>>]) -> StepInput {
    let (inputs, outputs) = (a[0][0].len(), d[0][0].len());
    let mut weight = vec![0.0; a.len() * inputs * outputs];
    let mut bias = vec![0.0; a.len() * outputs];
    for b in 0..a.len() {
        for (a, d) in a[b].iter().zip(&d[b]) {
            for (o, d) in d.iter().enumerate() {
                bias[b * outputs + o] += d;
                for (i, a) in a.iter().enumerate() {
                    weight[(b * inputs + i) * outputs + o] += a * d;
                }
            }
        }
    }
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[inputs, outputs], a.len(), weight);
    add_leaf(&mut input, "bias", &[outputs], a.len(), bias);
    input
}

fn random_rows(
    random: &mut Random,
    examples: usize,
    tokens: usize,
    width: usize,
) -> Vec<Vec<Vec<f64>>> {
    let token = |random: &mut Random| random.normals(width);
    let example = |random: &mut Random| (0..tokens).map(|_| token(random)).collect();
    (0..examples).map(|_| example(random)).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[test]
fn norms_of_a_dense_layer_are_products_of_norms() {
    let mut random = Random::new(1510);
    let (a, d) = (
        random_rows(&mut random, 4, 1, 3),
        random_rows(&mut random, 4, 1, 5),
    );
    let output = step::<f64>(&program(&Norms).unwrap(), &dense_layer(&a, &d));
    let expected = (0..4).map(|b| {
        let (a, d) = (&a[b][0], &d[b][0]);
        dot(d, d) * (dot(a, a) + 1.0)
    });
    let expected: Vec<f64> = expected.collect();
    assert_close::<f64>(&output.metrics["norms.all"], &expected, "|d|^2 (|x|^2 + 1)");
}

/// `sum_tu (A A^T * D D^T)_tu` for the weight, the squared norm of the summed tokens for the bias.
fn ghost_norm(a: &[Vec<f64>], d: &[Vec<f64>]) -> f64 {
    ghost_product((a, d), (a, d))
}

type Tokens<'a> = (&'a [Vec<f64>], &'a [Vec<f64>]);

/// The product of the gradients of the weight of two examples, from `A_b A_c^T` and `D_b D_c^T`.
fn ghost_product((a, d): Tokens<'_>, (other_a, other_d): Tokens<'_>) -> f64 {
    let pairs = (0..a.len()).flat_map(|t| (0..other_a.len()).map(move |u| (t, u)));
    pairs
        .map(|(t, u)| dot(&a[t], &other_a[u]) * dot(&d[t], &other_d[u]))
        .sum()
}

#[test]
fn the_gram_matrix_of_a_dense_layer_is_a_product_of_gram_matrices() {
    let mut random = Random::new(17);
    let (a, d) = (
        random_rows(&mut random, 4, 1, 3),
        random_rows(&mut random, 4, 1, 5),
    );
    let output = step::<f64>(&program(&Norms).unwrap(), &dense_layer(&a, &d));
    let pairs = (0..4).flat_map(|b| (0..4).map(move |c| (b, c)));
    let expected = pairs.map(|(b, c)| (dot(&a[b][0], &a[c][0]) + 1.0) * dot(&d[b][0], &d[c][0]));
    let expected: Vec<f64> = expected.collect();
    assert_close::<f64>(
        &output.metrics["norms.pairs"],
        &expected,
        "(A A^T + 1) * D D^T",
    );
}

#[test]
fn the_gram_matrix_over_tokens_is_a_sum_of_products_of_tokens() {
    let mut random = Random::new(18);
    let (a, d) = (
        random_rows(&mut random, 3, 4, 2),
        random_rows(&mut random, 3, 4, 3),
    );
    let output = step::<f64>(&program(&Norms).unwrap(), &dense_layer(&a, &d));
    let pairs = (0..3).flat_map(|b| (0..3).map(move |c| (b, c)));
    let expected = pairs.map(|(b, c)| ghost_product((&a[b], &d[b]), (&a[c], &d[c])));
    let expected: Vec<f64> = expected.collect();
    let weight = &output.metrics["norms.leaf_pairs"][9..];
    assert_close::<f64>(weight, &expected, "ghost products");
}

#[test]
fn norms_over_tokens_are_ghost_norms() {
    let a = vec![vec![vec![1.0, 0.0], vec![1.0, 1.0]]];
    let d = vec![vec![vec![1.0, 2.0], vec![3.0, -1.0]]];
    let output = step::<f64>(&program(&Norms).unwrap(), &dense_layer(&a, &d));
    assert_eq!(ghost_norm(&a[0], &d[0]), 27.0);
    assert_eq!(output.metrics["norms.leaf"], [17.0, 27.0], "bias, weight");

    let mut random = Random::new(7);
    let (a, d) = (
        random_rows(&mut random, 3, 4, 2),
        random_rows(&mut random, 3, 4, 3),
    );
    let output = step::<f64>(&program(&Norms).unwrap(), &dense_layer(&a, &d));
    let expected: Vec<f64> = (0..3).map(|b| ghost_norm(&a[b], &d[b])).collect();
    assert_close::<f64>(&output.metrics["norms.leaf"][3..], &expected, "ghost norms");
}

#[test]
fn norms_of_an_embedding_add_repeated_ids_first() {
    let (ids, d) = (
        [[1, 1], [2, 0], [2, 0]],
        [[0.2, 0.2], [0.3, 0.1], [0.3, 0.1]],
    );
    let mut grads = vec![0.0; 3 * 3];
    for b in 0..3 {
        for t in 0..2 {
            grads[b * 3 + ids[b][t]] += d[b][t];
        }
    }
    let mut input = StepInput::default();
    add_leaf(&mut input, "w", &[3, 1], 3, grads);
    let output = step::<f64>(&program(&Norms).unwrap(), &input);
    assert_close::<f64>(
        &output.metrics["norms.all"],
        &[0.16, 0.1, 0.1],
        "squared norms",
    );
}

/// Rescaling the rows of `d` and one more product is clipping.
#[test]
fn clipping_is_a_reweighting_of_the_examples() {
    let mut random = Random::new(3);
    let (a, mut d) = (
        random_rows(&mut random, 6, 2, 3),
        random_rows(&mut random, 6, 2, 2),
    );
    let input = dense_layer(&a, &d);
    let clipped = step::<f64>(
        &program(&clip_per_example(2.0).then(sum())).unwrap(),
        &input,
    );

    let norms = step::<f64>(&program(&Norms).unwrap(), &input).metrics["norms.all"].clone();
    let weights: Vec<f64> = norms.iter().map(|n| (2.0 / n.sqrt()).min(1.0)).collect();
    assert!(
        weights.contains(&1.0) && weights.iter().any(|w| *w < 1.0),
        "both kinds"
    );
    for (d, weight) in d.iter_mut().zip(&weights) {
        d.iter_mut().flatten().for_each(|d| *d *= weight);
    }
    let rescaled = step::<f64>(&program(&sum()).unwrap(), &dense_layer(&a, &d));
    assert_close::<f64>(w(&clipped), w(&rescaled), "rescaled output gradients");

    let mut weighted = input;
    weighted.extras.insert("clip".into(), weights);
    let chain = program(&scale_per_example("clip").then(sum())).unwrap();
    assert_close::<f64>(
        w(&clipped),
        w(&step::<f64>(&chain, &weighted)),
        "given weights",
    );
}
