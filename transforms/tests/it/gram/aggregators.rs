//! Reductions that weigh the examples by their products with each other.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{StepInput, StepOutput};
use pergrad_transforms::{PerExample, Program, Transform};

use crate::model::{add_leaf, batch, step, steps, w};
use crate::random::Random;
use crate::tolerance::assert_close;

fn reduced(link: &impl Transform<PerExample>, input: &StepInput) -> StepOutput {
    step::<f64>(&program(link).unwrap(), input)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    let difference: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    dot(&difference, &difference).sqrt()
}

fn weighted_mean(rows: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let mean = |p: usize| {
        rows.iter()
            .zip(weights)
            .map(|(row, w)| w * row[p])
            .sum::<f64>()
            / total
    };
    (0..rows[0].len()).map(mean).collect()
}

/// Seven examples of two leaves, as rows over both, and as a batch.
fn examples() -> (Vec<Vec<f64>>, StepInput) {
    let mut random = Random::new(77);
    let rows: Vec<Vec<f64>> = (0..7).map(|_| random.normals(5)).collect();
    let mut input = StepInput::default();
    let part =
        |from: usize, to: usize| rows.iter().flat_map(|row| row[from..to].to_vec()).collect();
    add_leaf(&mut input, "v", &[2], 7, part(0, 2));
    add_leaf(&mut input, "w", &[3], 7, part(2, 5));
    (rows, input)
}

/// The update over both leaves.
fn joined(output: &StepOutput) -> Vec<f64> {
    [&output.updates["v"].values[..], w(output)].concat()
}

#[test]
fn the_geometric_median_is_that_of_a_plain_loop() {
    let (rows, input) = examples();
    let mut z = weighted_mean(&rows, &[1.0; 7]);
    for iterations in 0..6 {
        let output = reduced(&geometric_median(iterations), &input);
        assert_close::<f64>(&joined(&output), &z, "median");
        let weights: Vec<f64> = rows.iter().map(|row| 1.0 / distance(row, &z)).collect();
        z = weighted_mean(&rows, &weights);
    }
}

#[test]
fn the_sum_of_distances_falls_with_each_iteration() {
    let (rows, input) = examples();
    let sum = |iterations: usize| -> f64 {
        let z = joined(&reduced(&geometric_median(iterations), &input));
        rows.iter().map(|row| distance(row, &z)).sum()
    };
    let sums = [0, 1, 2, 4, 8].map(sum);
    assert!(sums.is_sorted_by(|a, b| a > b), "{sums:?}");
}

#[test]
fn a_geometric_median_stays_with_the_majority() {
    let input = batch([[1.0, 1.0], [1.5, 0.5], [0.5, 1.5], [1e6, -1e6], [1e6, 1e6]]);
    let output = reduced(&geometric_median(100), &input);
    assert!(
        w(&output).iter().all(|x| (0.0..2.0).contains(x)),
        "{output:?}"
    );
}

#[test]
fn the_geometric_median_of_equal_examples_is_the_example() {
    let input = batch([[3.0, -4.0]; 4]);
    assert_eq!(w(&reduced(&geometric_median(5), &input)), [3.0, -4.0]);
    assert_eq!(
        w(&reduced(&geometric_median(5), &batch([[0.0, 0.0]; 3]))),
        [0.0, 0.0]
    );
}

/// For two examples, each without its part along the other if they point apart.
#[test]
fn two_examples_in_conflict_are_projected_as_in_pcgrad() {
    let mut random = Random::new(5);
    let mut conflicts = 0;
    for _ in 0..20 {
        let rows: [[f64; 3]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| random.normal()));
        let [a, b] = rows;
        let without = |x: [f64; 3], y: [f64; 3]| -> [f64; 3] {
            let share = dot(&x, &y).min(0.0) / dot(&y, &y);
            std::array::from_fn(|p| x[p] - share * y[p])
        };
        let (pa, pb) = (without(a, b), without(b, a));
        let expected: [f64; 3] = std::array::from_fn(|p| f64::midpoint(pa[p], pb[p]));
        let output = reduced(&project_conflicts(), &batch(rows));
        assert_close::<f64>(w(&output), &expected, "pcgrad");
        conflicts += usize::from(dot(&a, &b) < 0.0);
    }
    assert!((1..20).contains(&conflicts));
}

#[test]
fn examples_of_zeros_are_in_conflict_with_none() {
    let input = batch([[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]]);
    assert_eq!(w(&reduced(&project_conflicts(), &input)), [1.0, 1.0]);
}

/// The second example is harmed by the mean `[1.5, 0.25]`.
#[test]
fn least_harm_takes_the_harm_away() {
    let input = batch([[4.0, 0.0], [-1.0, 0.5]]);
    let output = reduced(&least_harm(f64::INFINITY).iterations(1000), &input);
    assert_close::<f64>(w(&output), &[0.4, 0.8], "a right angle to the second");
    assert_close::<f64>(&output.metrics["least_harm.weight"], &[1.0, 3.2], "weights");
    let unharmed = reduced(&least_harm(0.0), &input);
    assert_eq!(w(&unharmed), [1.5, 0.25]);
    assert_eq!(unharmed.metrics["least_harm.harmed"], [1.0]);
    // Weights stop at the edge of the box.
    let some = reduced(&least_harm(0.5).iterations(100), &input);
    assert_eq!(some.metrics["least_harm.weight"], [1.0, 1.5]);
}

/// What is gained and what may be gained at most meet.
#[test]
fn the_duality_gap_of_least_harm_closes() {
    let (rows, input) = examples();
    let mean = weighted_mean(&rows, &[1.0; 7]);
    let lambda = 3.0;
    let gap = |iterations: usize| -> f64 {
        let output = reduced(&least_harm(lambda).iterations(iterations), &input);
        let d = joined(&output);
        let moved = distance(&d, &mean).powi(2);
        let harm: f64 = rows.iter().map(|g| (-dot(g, &d)).max(0.0)).sum::<f64>() / 7.0;
        let weights = &output.metrics["least_harm.weight"];
        let dual = rows
            .iter()
            .zip(weights)
            .map(|(g, w)| (w - 1.0) * dot(g, &mean));
        moved + lambda * harm + dual.sum::<f64>() / 7.0
    };
    let gaps = [1, 10, 300].map(gap);
    assert!(gaps[0] > 1e-3 && gaps[1] < gaps[0], "{gaps:?}");
    assert!(gaps[2].abs() < 1e-9, "{gaps:?}");
}

#[test]
fn the_links_refuse_an_empty_batch_by_name() {
    let refused = |program: Program| program.check_batch(0).unwrap_err();
    let median = optimizer_program(&geometric_median(3)).unwrap();
    insta::assert_snapshot!(refused(median), @"`geometric_median` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
    let conflicts = optimizer_program(&project_conflicts()).unwrap();
    insta::assert_snapshot!(refused(conflicts), @"`project_conflicts` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
    let harm = optimizer_program(&least_harm(1.0)).unwrap();
    insta::assert_snapshot!(refused(harm), @"`least_harm` needs at least 1 example, but the batch has 0: skip this batch, or make it larger");
}

/// The scale is of earlier steps, so one example, however large, moves the sum by no more than the bound.
#[test]
fn one_example_is_bounded_after_scale_then_clip() {
    let chain = chain((
        scale_by_past_rms().decay(0.5).eps(0.0),
        clip_per_example(1.0),
        sum(),
    ));
    let program = optimizer_program(&chain).unwrap();
    let before = batch([[3.0, 0.01], [5.0, -0.03]]);
    let with = |last: [f64; 2]| batch([[1.0, 0.02], [2.0, 0.01], last]);
    let run =
        |last: [f64; 2]| w(&steps::<f64>(&program, &[before.clone(), with(last)])[1]).to_vec();
    let without = run([0.0, 0.0]);
    for last in [[1e6, 0.0], [0.0, -1e6], [1e-3, 1e-3]] {
        assert!(distance(&run(last), &without) <= 1.0 + 1e-12);
    }
    // A coordinate of small gradients is not drowned: the mean of the step before was [4, -0.01].
    let small = run([0.0, 0.005]);
    assert_close::<f64>(&[small[1] - without[1]], &[0.5], "0.005 / 0.01");
}

/// Each example on its own by another algorithm: Dykstra's projections onto one half space after the other.
#[test]
fn upgrad_averages_the_projections_of_the_examples() {
    let (rows, input) = examples();
    let project = |g: &[f64]| -> Vec<f64> {
        let mut d = g.to_vec();
        let mut given = vec![0.0; rows.len()];
        for _ in 0..20_000 {
            for (row, given) in rows.iter().zip(&mut given) {
                // What this half space gave before is taken back first.
                let product = dot(row, &d) - *given * dot(row, row);
                let now = (-product / dot(row, row)).max(0.0);
                let change = now - *given;
                d.iter_mut().zip(row).for_each(|(d, r)| *d += change * r);
                *given = now;
            }
        }
        d
    };
    let projections: Vec<Vec<f64>> = rows.iter().map(|row| project(row)).collect();
    let expected = weighted_mean(&projections, &[1.0; 7]);
    let d = joined(&reduced(&upgrad(3000), &input));
    assert!(distance(&d, &expected) < 1e-6, "{d:?} is not {expected:?}");
    assert!(rows.iter().all(|row| dot(row, &d) > -1e-6));
    let mean = weighted_mean(&rows, &[1.0; 7]);
    assert!(
        distance(&mean, &expected) > 0.01,
        "something is in conflict"
    );
}

/// By hand: `[4, 0]` moves to `[0.8, 1.6]`, at a right angle to the other, and `[-1, 0.5]` to `[0, 0.5]`.
#[test]
fn upgrad_of_two_examples() {
    let input = batch([[4.0, 0.0], [-1.0, 0.5]]);
    let output = reduced(&upgrad(2000), &input);
    assert!(distance(w(&output), &[0.4, 1.05]) < 1e-9, "{output:?}");
}

#[test]
fn a_product_of_pairs_is_that_of_matrices() {
    let program = super::probe(|x, cx| {
        let gram = x.gram();
        cx.emit("product", &gram.product(&(gram.abs() + x.norm())));
        cx.emit("one", &gram.product(&gram).sum_pairs().sum());
    });
    let output = step::<f64>(&program, &batch([[1.0, 2.0], [2.0, -3.0]]));
    // [[5, -4], [-4, 13]] with [[5 + a, 4 + a], [4 + b, 13 + b]], a and b the norms.
    let (a, b) = (5_f64.sqrt(), 13_f64.sqrt());
    let column = |x: f64, y: f64| [5.0 * x - 4.0 * y, -4.0 * x + 13.0 * y];
    let (first, second) = (column(5.0 + a, 4.0 + b), column(4.0 + a, 13.0 + b));
    let expected = [first[0], second[0], first[1], second[1]];
    assert_close::<f64>(&output.metrics["probe.product"], &expected, "product");
    assert_close::<f64>(
        &output.metrics["probe.one"],
        &[41.0 - 72.0 - 72.0 + 185.0],
        "sum",
    );
}
