//! Steps of random gradients for two leaves, for the laws.

use pergrad_transforms::runner::{HostTensor, StepInput};
use pergrad_transforms::{AxisKind, Program};

use crate::model::add_leaf;
use crate::random::Random;

/// Random gradients for the leaves `v.bias [P]` and `w [2, 2]`. Their mean stands clear of 0 in every coordinate, so that
/// no law rests on the rounding of a sign.
pub(super) fn steps(
    program: &Program,
    count: usize,
    examples: usize,
    size: usize,
) -> Vec<StepInput> {
    let mut random = Random::new(44);
    (0..count)
        .map(|_| {
            let mut input = StepInput::default();
            for (path, shape) in [("v.bias", vec![size]), ("w", vec![2, 2])] {
                let p: usize = shape.iter().product();
                let mut grads = Vec::with_capacity(examples * p);
                for _ in 0..examples {
                    let sides = (0..p).map(|at| if at % 2 == 0 { 2.0 } else { -1.5 });
                    grads.extend(sides.map(|side| side * (1.0 + 0.25 * random.normal())));
                }
                add_leaf(&mut input, path, &shape, examples, grads);
                input
                    .params
                    .insert(path.into(), HostTensor::new(shape, random.normals(p)));
            }
            with_extras(program, input, examples, &mut random)
        })
        .collect()
}

/// Adds the weights, and the loss, that the program reads.
fn with_extras(
    program: &Program,
    mut input: StepInput,
    examples: usize,
    random: &mut Random,
) -> StepInput {
    for extra in program.extras() {
        let count = match extra.axis {
            AxisKind::PerExample => examples,
            AxisKind::Aggregated => 1,
        };
        let numbers = (0..count).map(|_| random.uniform()).collect();
        input.extras.insert(extra.name.clone(), numbers);
    }
    input
}

/// The same examples in another order: example `b` comes from place `order[b]`.
pub(super) fn reorder(input: &StepInput, order: &[usize]) -> StepInput {
    let mut out = input.clone();
    for grads in out.grads.values_mut() {
        let rows = grads.values.len() / order.len();
        let old = grads.values.clone();
        let parts = order.iter().map(|&b| &old[b * rows..(b + 1) * rows]);
        grads.values = parts.flatten().copied().collect();
    }
    for extra in out.extras.values_mut() {
        let old = extra.clone();
        if old.len() != order.len() {
            continue; // one number, such as the loss
        }
        *extra = order.iter().map(|&b| old[b]).collect();
    }
    out
}
