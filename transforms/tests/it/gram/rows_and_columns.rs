//! First examples are rows and second examples are columns, in every operation on pairs.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::StepInput;
use pergrad_transforms::{PerExample, Program};

use super::probe;
use crate::model::{add_leaf, batch, step};

/// Three examples whose gradients play no part, with a number each.
fn metric(program: &Program, name: &str) -> Vec<f64> {
    let mut input = batch([[0.0], [0.0], [0.0]]);
    for extra in program.extras() {
        let values = vec![1.0, 20.0, 300.0];
        input.extras.insert(extra.name.clone(), values);
    }
    step::<f64>(program, &input).metrics[&format!("probe.{name}")].clone()
}

/// A matrix that is not symmetric: `u[b] - 2 u[c]`.
fn differences(cx: &Tracer) -> Value<PerExample, pergrad_transforms::Pairs> {
    let u = cx.example_extra("u");
    &u - u.across() * 2.0
}

const DIFFERENCES: [[f64; 3]; 3] = [
    [-1.0, -39.0, -599.0],
    [18.0, -20.0, -580.0],
    [298.0, 260.0, -300.0],
];

#[test]
fn a_metric_of_pairs_is_row_after_row() {
    let program = probe(|_, cx| cx.emit("pairs", &differences(cx)));
    assert_eq!(metric(&program, "pairs"), DIFFERENCES.concat());
}

#[test]
fn transposing_exchanges_rows_and_columns() {
    let program = probe(|_, cx| {
        let pairs = differences(cx);
        cx.emit("once", &pairs.transpose());
        cx.emit("twice", &pairs.transpose().transpose());
    });
    let columns: [[f64; 3]; 3] = std::array::from_fn(|c| DIFFERENCES.map(|row| row[c]));
    assert_eq!(metric(&program, "once"), columns.concat());
    assert_eq!(metric(&program, "twice"), DIFFERENCES.concat());
}

#[test]
fn folds_over_pairs_leave_rows_and_reductions_over_examples_leave_columns() {
    let program = probe(|_, cx| {
        let pairs = differences(cx);
        cx.emit("sums", &pairs.sum_pairs());
        cx.emit("largest", &pairs.abs().max_pairs());
        cx.emit("columns", &pairs.sum());
        cx.emit(
            "smallest",
            &pairs.reduce(pergrad_transforms::program::Reduction::Min),
        );
        cx.emit("all", &pairs.sum().sum_pairs());
    });
    assert_eq!(metric(&program, "sums"), [-639.0, -582.0, 258.0]);
    assert_eq!(metric(&program, "largest"), [599.0, 580.0, 300.0]);
    assert_eq!(metric(&program, "columns"), [315.0, 201.0, -1479.0]);
    assert_eq!(metric(&program, "smallest"), [-1.0, -39.0, -599.0]);
    assert_eq!(metric(&program, "all"), [-963.0]);
}

#[test]
fn down_is_the_way_back_from_across() {
    let program = probe(|_, cx| {
        let u = cx.example_extra("u");
        cx.emit("across", &u.across());
        cx.emit("back", &u.across().down());
        // The sums of columns, as weights of the first examples.
        cx.emit("weights", &(differences(cx).sum().down() + u));
    });
    assert_eq!(metric(&program, "across"), [1.0, 20.0, 300.0]);
    assert_eq!(metric(&program, "back"), [1.0, 20.0, 300.0]);
    assert_eq!(metric(&program, "weights"), [316.0, 221.0, -1179.0]);
}

#[test]
fn a_matrix_times_a_vector_sums_over_the_columns() {
    let program = probe(|_, cx| {
        let (pairs, v) = (differences(cx), cx.example_extra("v"));
        cx.emit("times", &pairs.times(&v));
        cx.emit("transposed", &pairs.transpose().times(&v));
    });
    let v = [1.0, 20.0, 300.0];
    let rows = DIFFERENCES.map(|row| row.iter().zip(v).map(|(x, v)| x * v).sum::<f64>());
    assert_eq!(metric(&program, "times"), rows);
    let column = |c: usize| -> f64 { DIFFERENCES.iter().zip(v).map(|(row, v)| row[c] * v).sum() };
    assert_eq!(metric(&program, "transposed"), [0, 1, 2].map(column));
}

#[test]
fn predicates_hold_for_pairs() {
    let program = probe(|_, cx| {
        let pairs = differences(cx);
        cx.emit("positive", &pairs.keep_where(&pairs.gt(0.0), 0.0));
        let u = cx.example_extra("u");
        cx.emit(
            "below",
            &u.lt(u.across()).and(&pairs.is_finite()).as_number(),
        );
    });
    let positive = [0.0, 0.0, 0.0, 18.0, 0.0, 0.0, 298.0, 260.0, 0.0];
    assert_eq!(metric(&program, "positive"), positive);
    let below = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    assert_eq!(metric(&program, "below"), below);
}

#[test]
fn pairs_of_each_leaf_meet_numbers_of_each_leaf() {
    let program = probe(|x, cx| {
        cx.emit("gram", &(x.leaf_gram() / cx.leaf_size()));
        // The number of leaves at each pair, from one value for all leaves and one for each.
        let ones = x.gram() * 0.0 + 1.0;
        cx.emit("leaves", &(ones * cx.one_per_leaf()).sum_leaves());
        cx.emit("largest", &x.leaf_gram().max_leaves());
        cx.emit("across", &x.leaf_sq_norm().across());
        cx.emit("per_leaf", &x.leaf_gram().max_pairs());
    });
    let mut input = StepInput::default();
    add_leaf(&mut input, "u", &[1], 2, vec![1.0, 3.0]);
    add_leaf(&mut input, "w", &[2], 2, vec![1.0, 1.0, 2.0, 0.0]);
    let metrics = step::<f64>(&program, &input).metrics;
    let gram = [1.0, 3.0, 3.0, 9.0, 1.0, 1.0, 1.0, 2.0];
    assert_eq!(metrics["probe.gram"], gram, "u by 1, w by 2");
    assert_eq!(metrics["probe.leaves"], [2.0; 4]);
    assert_eq!(metrics["probe.largest"], [2.0, 3.0, 3.0, 9.0]);
    assert_eq!(metrics["probe.across"], [1.0, 9.0, 2.0, 4.0]);
    assert_eq!(metrics["probe.per_leaf"], [3.0, 9.0, 2.0, 4.0]);
}
