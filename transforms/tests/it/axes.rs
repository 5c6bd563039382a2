//! Folds along the axes of a leaf, and products of leaves as matrices, against plain loops.

use pergrad_transforms::prelude::*;
use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
use pergrad_transforms::{PerExample, Program};

use crate::model::{reference, step, w};
use crate::random::Random;

/// A link that is one function of the gradients.
struct Function(fn(&Value<PerExample>, &Tracer) -> Value<PerExample>);

impl Transform<PerExample> for Function {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        self.0(&x, cx)
    }
}

fn of(f: fn(&Value<PerExample>, &Tracer) -> Value<PerExample>) -> Program {
    program(&Function(f)).unwrap()
}

/// Two examples of one leaf.
fn input(shape: &[usize]) -> StepInput {
    let size: usize = shape.iter().product();
    let mut input = StepInput::default();
    let batched = [&[2], shape].concat();
    let grads = Random::new(7).normals(2 * size);
    input
        .grads
        .insert("w".into(), HostTensor::new(batched, grads));
    input.params.insert("w".into(), HostTensor::zeros(shape));
    input
}

fn close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() < 1e-12, "{got:?} is not {expected:?}");
    }
}

#[test]
fn folds_along_axes_are_loops_over_indices() {
    let shape = [2, 3, 4];
    let data = input(&shape);
    let g = &data.grads["w"].values;
    let at = |b: usize, i: usize, j: usize, k: usize| g[((b * 2 + i) * 3 + j) * 4 + k];
    let expected = |f: &dyn Fn(usize, usize, usize, usize) -> f64| {
        let mut all = Vec::new();
        for b in 0..2 {
            for (i, j) in (0..2).flat_map(|i| (0..3).map(move |j| (i, j))) {
                all.extend((0..4).map(|k| f(b, i, j, k)));
            }
        }
        all
    };
    let run = |program: Program| w(&step::<f64>(&program, &data)).to_vec();
    close(
        &run(of(|x, _| x.sum_along(Axes::listed(&[1])))),
        &expected(&|b, i, _, k| (0..3).map(|j| at(b, i, j, k)).sum()),
    );
    close(
        &run(of(|x, _| x.mean_along(Axes::AllBut(0)))),
        &expected(&|b, i, _, _| {
            let rows = (0..3).flat_map(|j| (0..4).map(move |k| (j, k)));
            rows.map(|(j, k)| at(b, i, j, k)).sum::<f64>() / 12.0
        }),
    );
    close(
        &run(of(|x, _| x.abs().max_along(Axes::Longest))),
        &expected(&|b, i, j, _| (0..4).map(|k| at(b, i, j, k).abs()).fold(0.0, f64::max)),
    );
    close(
        &run(of(|x, _| x.sum_along(Axes::SecondLongest))),
        &expected(&|b, i, _, k| (0..3).map(|j| at(b, i, j, k)).sum()),
    );
    let count = run(of(|x, cx| x * 0.0 + cx.count_along(Axes::Inputs)));
    assert_eq!(count, [2.0; 48]);
}

#[test]
fn a_number_of_the_leaf_is_one_for_each_element() {
    let data = input(&[2, 3]);
    let sums = step::<f64>(
        &of(|x, cx| x * 0.0 + cx.count_along(Axes::AllBut(7))),
        &data,
    );
    assert_eq!(w(&sums), [6.0; 12]);
}

#[test]
fn a_nan_stays_in_its_slice() {
    let mut data = input(&[2, 2]);
    data.grads.get_mut("w").unwrap().values[0] = f64::NAN;
    let output = step::<f64>(&of(|x, _| x.sum_along(Axes::listed(&[1]))), &data);
    let nan: Vec<bool> = w(&output).iter().map(|x| x.is_nan()).collect();
    assert_eq!(nan, [true, true, false, false, false, false, false, false]);
}

#[test]
fn a_product_of_three_is_a_loop_over_rows_and_columns() {
    for (shape, rows, columns) in [
        (vec![3, 2], 3, 2),
        (vec![2, 2, 3], 2, 6),
        (vec![4], 1, 4),
        (vec![], 1, 1),
        (vec![0, 3], 0, 3),
        (vec![3, 0], 3, 0),
    ] {
        let data = input(&shape);
        let g = &data.grads["w"].values;
        let x = |b: usize, i: usize, j: usize| g[(b * rows + i) * columns + j];
        let mut expected = Vec::new();
        for b in 0..2 {
            for i in 0..rows {
                expected.extend((0..columns).map(|j| {
                    let terms = (0..rows).flat_map(|k| (0..columns).map(move |l| (k, l)));
                    // x (x + 1)^T x
                    terms
                        .map(|(k, l)| x(b, i, l) * (x(b, k, l) + 1.0) * x(b, k, j))
                        .sum::<f64>()
                }));
            }
        }
        let output = step::<f64>(&of(|x, _| x.times_transposed(&(x + 1.0), x)), &data);
        close(w(&output), &expected);
    }
}

#[test]
fn programs_with_axes_survive_json_and_are_checked() {
    let program = of(|x, _| x.times_transposed(x, x).sum_along(Axes::listed(&[0, 2])));
    let text = serde_json::to_string(&program).unwrap();
    assert_eq!(serde_json::from_str::<Program>(&text).unwrap(), program);
    insta::assert_snapshot!(program, @r"
    program per-example [B, ..p] -> per-example [B, ..p]
    %0 = product3 g g g : [B,P]
    %1 = sum_along(0 2) %0 : [B,P]
    updates = %1
    ");
    let shape = [2, 3];
    let mut runner = reference::<f32>(&program, &input(&shape));
    assert!(runner.step(&input(&shape)).is_ok());
    // The kind of a value along axes has elements.
    let wrong = text.replace("\"extent\":\"leaf\"", "\"extent\":\"global\"");
    assert!(serde_json::from_str::<Program>(&wrong).is_err());
}

#[test]
fn leaves_are_chosen_by_their_second_longest_axis() {
    use pergrad_transforms::{Dtype, LeafInfo, ParamTree};
    let shapes: [&[usize]; 4] = [&[4, 4], &[4, 1], &[5, 1, 6], &[9]];
    let leaves = shapes.iter().enumerate().map(|(at, shape)| LeafInfo {
        path: at.to_string(),
        shape: shape.to_vec(),
        dtype: Dtype::F32,
    });
    let tree = ParamTree::new(leaves.collect()).unwrap();
    let chosen = Leaves::TwoAxesAtLeast(4).select(&tree).unwrap();
    assert_eq!(chosen, [true, false, true, false]);
}
