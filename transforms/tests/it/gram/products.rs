//! The products of examples with each other and with a direction.

use pergrad_transforms::runner::{StepInput, StepOutput};

use super::probe;
use crate::model::{add_leaf, batch, step};
use crate::random::Random;
use crate::tolerance::{Tolerated, assert_close};

fn grams<T: Tolerated>(input: &StepInput) -> StepOutput {
    let program = probe(|x, cx| {
        cx.emit("all", &x.gram());
        cx.emit("leaf", &x.leaf_gram());
    });
    step::<T>(&program, input)
}

/// By polarization: `(|g_b + g_c|^2 - |g_b - g_c|^2) / 4`.
fn polarized(g: &[f64], examples: usize) -> Vec<f64> {
    let size = g.len() / examples.max(1);
    let row = |b: usize| &g[b * size..(b + 1) * size];
    let sq_norm = |b: usize, c: usize, sign: f64| -> f64 {
        let terms = row(b).iter().zip(row(c)).map(|(x, y)| x + sign * y);
        terms.map(|x| x * x).sum()
    };
    let pairs = (0..examples).flat_map(|b| (0..examples).map(move |c| (b, c)));
    pairs
        .map(|(b, c)| (sq_norm(b, c, 1.0) - sq_norm(b, c, -1.0)) / 4.0)
        .collect()
}

#[test]
fn gram_matrices_agree_with_polarization() {
    fn check<T: Tolerated>() {
        for examples in [0, 1, 2, 3, 8] {
            for size in [0, 1, 5, 33, 257] {
                let mut random = Random::new(7 + size as u64);
                let (u, w) = (
                    random.normals(examples * 2),
                    random.normals(examples * size),
                );
                let mut input = StepInput::default();
                add_leaf(&mut input, "u", &[2], examples, u.clone());
                add_leaf(&mut input, "w", &[size], examples, w.clone());
                let output = grams::<T>(&input);
                let (u, w) = (polarized(&u, examples), polarized(&w, examples));
                let sum: Vec<f64> = u.iter().zip(&w).map(|(x, y)| x + y).collect();
                assert_close::<T>(&output.metrics["probe.all"], &sum, "all leaves");
                let leaf = &output.metrics["probe.leaf"];
                assert_close::<T>(&leaf[..u.len()], &u, "u");
                assert_close::<T>(&leaf[u.len()..], &w, "w");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn one_example_has_its_squared_norm() {
    let output = grams::<f64>(&batch([[3.0, -4.0]]));
    assert_eq!(output.metrics["probe.all"], [25.0]);
}

#[test]
fn a_leaf_without_elements_has_zeros() {
    let output = grams::<f64>(&batch([[], []]));
    assert_eq!(output.metrics["probe.leaf"], [0.0; 4]);
}

#[test]
fn a_batch_without_examples_and_a_model_without_leaves_have_no_pair() {
    let program = probe(|x, cx| {
        let gram = x.gram();
        cx.emit("gram", &gram);
        cx.emit("sums", &gram.sum_pairs());
        cx.emit("largest", &gram.abs().sum_pairs().across().max_pairs());
        cx.emit("columns", &gram.sum());
    });
    for input in [batch::<0, 2>([]), StepInput::default()] {
        let output = step::<f64>(&program, &input);
        for name in ["gram", "sums", "columns"] {
            assert!(
                output.metrics[&format!("probe.{name}")].is_empty(),
                "{name}"
            );
        }
        assert_eq!(output.metrics["probe.largest"], [0.0], "0 of nothing");
    }
}

#[test]
fn the_mean_over_no_first_examples_is_refused() {
    let program = probe(|x, cx| cx.emit("columns", &x.gram().mean()));
    insta::assert_snapshot!(program.check_batch(0).unwrap_err(), @"`probe` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
}

#[test]
fn a_tiny_example_keeps_its_digits_beside_a_huge_one() {
    let output = grams::<f32>(&batch([[1e-18, 0.0], [1e18, 0.0]]));
    let gram = &output.metrics["probe.all"];
    for (got, expected) in gram.iter().zip([1e-36, 1.0, 1.0, 1e36]) {
        assert!((got / expected - 1.0).abs() < 1e-6, "{gram:?}");
    }
}

#[test]
fn an_example_that_is_no_number_stays_in_its_row_and_column() {
    for bad in [f64::NAN, f64::INFINITY] {
        let good = grams::<f64>(&batch([[1.0, 2.0], [3.0, 4.0], [-5.0, 6.0]]));
        let output = grams::<f64>(&batch([[1.0, 2.0], [bad, 4.0], [-5.0, 6.0]]));
        let pairs = (0..3).flat_map(|b| (0..3).map(move |c| (b, c)));
        for (at, (b, c)) in pairs.enumerate() {
            let got = output.metrics["probe.all"][at];
            if b == 1 || c == 1 {
                assert!(!got.is_finite(), "{bad} at [{b}, {c}]");
            } else {
                assert_eq!(got, good.metrics["probe.all"][at]);
            }
        }
    }
}

#[test]
fn a_permutation_of_the_examples_permutes_rows_and_columns() {
    let mut random = Random::new(23);
    let rows: [[f64; 5]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| random.normal()));
    let order = [2, 0, 3, 1];
    let gram = grams::<f32>(&batch(rows)).metrics["probe.all"].clone();
    let permuted = grams::<f32>(&batch(order.map(|b| rows[b])));
    let expected = order.map(|b| order.map(|c| gram[4 * b + c]));
    assert_eq!(
        permuted.metrics["probe.all"],
        expected.concat(),
        "to the bit"
    );
    let transposed: Vec<f64> = (0..16).map(|at| gram[4 * (at % 4) + at / 4]).collect();
    assert_eq!(gram, transposed, "symmetric to the bit");
}

/// `K alpha` is the product of each example with the direction `sum_b alpha_b g_b`.
#[test]
fn the_gram_matrix_times_weights_is_a_dot_with_the_weighted_sum() {
    fn check<T: Tolerated>() {
        let program = probe(|x, cx| {
            let alpha = cx.example_extra("alpha");
            let direction = (x * &alpha).sum();
            cx.emit("times", &x.gram().times(&alpha));
            cx.emit("leaf_times", &x.leaf_gram().times(&alpha));
            cx.emit("dot", &x.dot(&direction));
            cx.emit("leaf_dot", &x.leaf_dot(&direction));
        });
        let mut random = Random::new(29);
        let mut input = StepInput::default();
        add_leaf(&mut input, "u", &[2, 3], 5, random.normals(30));
        add_leaf(&mut input, "w", &[3], 5, random.normals(15));
        let alpha = random.normals(5);
        // The oracle: the weighted sum first, then its products, in plain f64.
        let dots = |path: &str, size: usize| -> Vec<f64> {
            let g = &input.grads[path].values;
            let sum = |p: usize| -> f64 { (0..5).map(|b| alpha[b] * g[b * size + p]).sum() };
            let dot = |b: usize| (0..size).map(|p| g[b * size + p] * sum(p)).sum();
            (0..5).map(dot).collect()
        };
        let (u, w) = (dots("u", 6), dots("w", 3));
        let both: Vec<f64> = u.iter().zip(&w).map(|(u, w)| u + w).collect();
        input.extras.insert("alpha".to_owned(), alpha);
        let output = step::<T>(&program, &input);
        for (name, expected) in [
            ("times", &both),
            ("dot", &both),
            ("leaf_times", &[u.clone(), w.clone()].concat()),
            ("leaf_dot", &[u, w].concat()),
        ] {
            assert_close::<T>(&output.metrics[&format!("probe.{name}")], expected, name);
        }
    }
    check::<f32>();
    check::<f64>();
}
