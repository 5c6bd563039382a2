//! Every optimizer goes downhill: a parabola with unequal axes, and Rosenbrock's valley.

use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::{HostTensor, Runner, StepInput};
use pergrad_transforms::spec::{Catalogue, ChainSpec, Family};
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

fn program(json: &str) -> Program {
    let spec: ChainSpec = serde_json::from_str(&format!("[{json}]")).unwrap();
    let chain = Catalogue::standard().build(&spec).unwrap();
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

/// Optimizers with arguments for the parabola and for Rosenbrock's valley.
const OPTIMIZERS: &[(&str, &str, &str)] = &[
    (
        "acprop",
        r#""learning_rate": 0.05"#,
        r#""learning_rate": 0.01"#,
    ),
    (
        "adabelief",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "adadelta",
        r#""learning_rate": 10"#,
        r#""learning_rate": 10"#,
    ),
    (
        "adafactor",
        r#""learning_rate": 0.05"#,
        r#""learning_rate": 0.01"#,
    ),
    (
        "adagrad",
        r#""learning_rate": 0.5"#,
        r#""learning_rate": 0.5"#,
    ),
    (
        "adam",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "nadam",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "adamax",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "adamaxw",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "adamw",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "nadamw",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "adan",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "ademamix",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "adopt",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "amsgrad",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.2"#,
    ),
    ("cocob", r#""alpha": 1"#, r#""alpha": 1"#),
    (
        "dadapt_adamw",
        r#""estim_lr0": 0.01"#,
        r#""estim_lr0": 0.01"#,
    ),
    ("dog", r#""init_value": 0.01"#, r#""init_value": 0.01"#),
    ("dowg", r#""#, r#""#),
    (
        "fromage",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.001"#,
    ),
    (
        "lamb",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.01"#,
    ),
    (
        "lars",
        r#""learning_rate": 1, "trust_coefficient": 0.02"#,
        r#""learning_rate": 0.1, "trust_coefficient": 0.02"#,
    ),
    (
        "lion",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.001"#,
    ),
    (
        "madgrad",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.1"#,
    ),
    ("momo", r#""#, r#""learning_rate": 0.01"#),
    (
        "momo_adam",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.1"#,
    ),
    (
        "muon",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.002"#,
    ),
    (
        "novograd",
        r#""learning_rate": 0.02"#,
        r#""learning_rate": 0.002"#,
    ),
    (
        "optimistic_adam_v2",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "optimistic_gradient_descent",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.001"#,
    ),
    ("polyak_sgd", r#""#, r#""#),
    ("prodigy", r#""estim_lr0": 0.01"#, r#""estim_lr0": 0.01"#),
    (
        "radam",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.003"#,
    ),
    (
        "rmsprop",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.003"#,
    ),
    (
        "rprop",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
    (
        "sgd",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.001, "momentum": 0.9"#,
    ),
    (
        "sign_ema",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.001"#,
    ),
    (
        "noisy_sgd",
        r#""learning_rate": 0.1, "eta": 0.0001, "seed": 7"#,
        r#""learning_rate": 0.001, "seed": 7"#,
    ),
    (
        "signum",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.001"#,
    ),
    (
        "sign_sgd",
        r#""learning_rate": 0.01"#,
        r#""learning_rate": 0.001"#,
    ),
    (
        "simplified_ademamix",
        r#""learning_rate": 0.003"#,
        r#""learning_rate": 0.0003"#,
    ),
    ("sm3", r#""learning_rate": 0.5"#, r#""learning_rate": 0.5"#),
    (
        "yogi",
        r#""learning_rate": 0.1"#,
        r#""learning_rate": 0.05"#,
    ),
];

#[test]
fn every_optimizer_minimises_a_parabola_and_rosenbrocks_valley() {
    let mut bad = Vec::new();
    for (name, parabola_args, valley_args) in OPTIMIZERS {
        let of = |args: &str| {
            let comma = if args.is_empty() { "" } else { ", " };
            program(&format!(r#"{{"link": "{name}"{comma}{args}}}"#))
        };
        let low = least(&of(parabola_args), parabola, [1.0, -1.5], 400);
        let valley = least(&of(valley_args), rosenbrock, [-0.5, 1.5], 6000);
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
            let tried = OPTIMIZERS.iter().any(|(name, ..)| *name == entry.name);
            assert!(tried, "{}", entry.name);
        }
    }
}
