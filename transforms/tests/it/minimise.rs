//! Every optimizer goes downhill: a parabola with unequal axes, and Rosenbrock's valley.

use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
use pergrad_transforms::spec::{Catalogue, ChainSpec, Family, LinkSpec};
use pergrad_transforms::{AxisKind, Program};

use crate::model::tree;

/// A function of two numbers with its gradient.
type Function = fn([f64; 2]) -> (f64, [f64; 2]);

fn parabola([x, y]: [f64; 2]) -> (f64, [f64; 2]) {
    (0.5 * (x * x + 4.0 * y * y), [x, 4.0 * y])
}

fn rosenbrock([x, y]: [f64; 2]) -> (f64, [f64; 2]) {
    let (gap, slope) = (y - x * x, 1.0 - x);
    let value = slope * slope + 100.0 * gap * gap;
    (value, [-2.0 * slope - 400.0 * x * gap, 200.0 * gap])
}

fn program(link: &LinkSpec) -> Program {
    let links = vec![link.clone()];
    let chain = Catalogue::standard().build(&ChainSpec { links }).unwrap();
    chain.program_over(AxisKind::Aggregated).unwrap()
}

/// The smallest value on the way, relative to the first one; NaN if the point is lost.
fn least(program: &Program, f: Function, begin: [f64; 2], steps: usize) -> f64 {
    let mut input = StepInput::default();
    // A matrix, so that those who treat matrices in their own way do.
    input
        .params
        .insert("w".to_owned(), HostTensor::new([1, 2], begin));
    let mut reference = Reference::<f64>::new(program, &tree(&input.params)).unwrap();
    let first = f(begin).0;
    let (mut point, mut least) = (begin, first);
    for _ in 0..steps {
        let (value, gradient) = f(point);
        least = least.min(value);
        input
            .params
            .insert("w".to_owned(), HostTensor::new([1, 2], point));
        input
            .grads
            .insert("w".to_owned(), HostTensor::new([1, 2], gradient));
        for extra in program.extras() {
            input.extras.insert(extra.name.clone(), vec![value]);
        }
        let update = reference.step(&input).unwrap().updates.remove("w").unwrap();
        point = [point[0] + update.values[0], point[1] + update.values[1]];
    }
    if point.iter().all(|x| x.is_finite()) {
        least / first
    } else {
        f64::NAN
    }
}

/// An optimizer with the arguments it takes each function with.
#[derive(serde::Deserialize)]
struct Case {
    parabola: LinkSpec,
    rosenbrock: LinkSpec,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("minimise/optimizers.json")).unwrap()
}

#[test]
fn every_optimizer_minimises_a_parabola_and_rosenbrocks_valley() {
    let mut bad = Vec::new();
    for case in cases() {
        let name = &case.parabola.link;
        let low = least(&program(&case.parabola), parabola, [1.0, -1.5], 400);
        let valley = least(&program(&case.rosenbrock), rosenbrock, [-0.5, 1.5], 6000);
        if !(low <= 1e-3 && valley <= 1e-2) {
            bad.push(format!("{name}: {low:.1e} {valley:.1e}"));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn every_optimizer_of_the_catalogue_is_tried() {
    // Those over examples have no meaning for one gradient.
    let over_examples = |name: &str| {
        let parts = ["micro_", "dpsgd", "adam_interpolation", "_with_"];
        parts.iter().any(|part| name.contains(part))
    };
    for entry in Catalogue::standard().entries() {
        if entry.family == Family::Alias && !over_examples(entry.name) {
            let tried = cases().iter().any(|case| case.parabola.link == entry.name);
            assert!(tried, "{}", entry.name);
        }
    }
}
