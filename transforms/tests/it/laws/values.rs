//! Two steps of every link, worked out by hand: a link that gave zeros, or its input, would fail here.
//!
//! Three examples of two parameters. Step 1: `[1,-4], [2,0], [6,1]`, mean `[3,-1]`, mean of squares `[41/3, 17/3]`, unbiased
//! variance `[7, 7]`. Step 2: `[-0.3,0.6], [0,0], [0,0]`, mean `[-0.1,0.2]`, mean of squares `[0.03, 0.12]`, unbiased
//! variance `[0.03, 0.12]`. The parameters are `[2,-1]` at both.

use pergrad_transforms::AxisKind;
use pergrad_transforms::runner::{HostTensor, StepInput};
use pergrad_transforms::spec::{Catalogue, ChainSpec, LinkSpec};

use super::optimizer_values::{aggregated, optimizers, options, parts};
use super::samples::{build, link};
use super::wrapper_values;
use crate::model::{batch, steps, w};
use crate::tolerance::{Tolerated, assert_close};

type Steps = [[f64; 2]; 2];

fn inputs() -> [StepInput; 2] {
    [
        batch([[1.0, -4.0], [2.0, 0.0], [6.0, 1.0]]),
        batch([[-0.3, 0.6], [0.0, 0.0], [0.0, 0.0]]),
    ]
    .map(|mut input| {
        input
            .params
            .insert("w".into(), HostTensor::new([2], [2.0, -1.0]));
        input
    })
}

/// Asserts the two updates of a chain of JSON links.
#[track_caller]
pub(super) fn assert_steps(json: &str, expected: Steps) {
    #[track_caller]
    fn check<T: Tolerated>(json: &str, expected: Steps) {
        let links: Vec<String> = json.split(" | ").map(str::to_owned).collect();
        let spec: ChainSpec = links.iter().map(|json| link(json)).collect();
        let program = build(&spec);
        let mut inputs = inputs();
        for extra in program.extras() {
            for input in &mut inputs {
                let numbers = match extra.axis {
                    AxisKind::PerExample => vec![1.0, -0.5, 0.0],
                    AxisKind::Aggregated => vec![1.0],
                };
                input.extras.insert(extra.name.clone(), numbers);
            }
        }
        for (output, expected) in steps::<T>(&program, &inputs).iter().zip(expected) {
            // Each parameter on its own: its neighbour must not hide an error.
            for (got, expected) in w(output).iter().zip(expected) {
                assert_close::<T>(&[*got], &[expected], json);
            }
        }
    }
    check::<f32>(json, expected);
    check::<f64>(json, expected);
    CHECKED.with_borrow_mut(|names| names.extend(json.split(" | ").map(|json| link(json).link)));
}

thread_local! {
    static CHECKED: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
}

const NAN: f64 = f64::NAN;

#[test]
fn every_entry_has_a_value_from_elsewhere() {
    elementwise();
    per_example();
    over_examples();
    monitors();
    aggregated();
    optimizers();
    options();
    parts();
    wrapper_values::all();
    let mut checked = CHECKED.take();
    // The rest of the shelf has values of the library itself, alone or in the expansion of an optimizer.
    checked.extend(crate::golden::names());
    checked.extend(super::expansions::names());
    checked.extend(crate::noise::names());
    checked.extend(crate::privacy::names());
    for entry in Catalogue::standard().entries() {
        assert!(
            checked.iter().any(|name| name == entry.name),
            "{}",
            entry.name
        );
    }
}

fn elementwise() {
    let tanh = |x: f64| 1.0 - 2.0 / ((2.0 * x).exp() + 1.0);
    assert_steps(r#""abs" | "mean""#, [[3.0, 5.0 / 3.0], [0.1, 0.2]]);
    assert_steps(r#""mean" | "abs""#, [[3.0, 1.0], [0.1, 0.2]]);
    assert_steps(
        r#""mean" | {"link": "add_scalar", "value": 0.5}"#,
        [[3.5, -0.5], [0.4, 0.7]],
    );
    assert_steps(
        r#"{"link": "at_least", "bound": 0.5} | "sum""#,
        [[9.0, 2.0], [1.5, 1.6]],
    );
    assert_steps(
        r#"{"link": "clip", "max_delta": 1.5} | "sum""#,
        [[4.0, -0.5], [-0.3, 0.6]],
    );
    assert_steps(r#""identity" | "sum""#, [[9.0, -3.0], [-0.3, 0.6]]);
    assert_steps(
        r#"{"link": "power", "exponent": 2} | "sum""#,
        [[41.0, 17.0], [0.09, 0.36]],
    );
    assert_steps(
        r#"{"link": "power", "exponent": -1} | "sum""#,
        [[5.0 / 3.0, 0.75], [-1.0 / 0.3, 1.0 / 0.6]],
    );
    assert_steps(
        r#"{"link": "power", "exponent": 0.5} | "sum""#,
        [
            [1.0 + 2_f64.sqrt() + 6_f64.sqrt(), NAN],
            [NAN, 0.6_f64.sqrt()],
        ],
    );
    assert_steps(
        r#""reciprocal" | "sum""#,
        [[5.0 / 3.0, 0.75], [-1.0 / 0.3, 1.0 / 0.6]],
    );
    assert_steps(
        r#""sum" | {"link": "scale", "step_size": -0.5}"#,
        [[-4.5, 1.5], [0.15, -0.3]],
    );
    assert_steps(r#""sign" | "sum""#, [[3.0, 0.0], [-1.0, 1.0]]);
    assert_steps(
        r#""sqrt" | "sum""#,
        [
            [1.0 + 2_f64.sqrt() + 6_f64.sqrt(), NAN],
            [NAN, 0.6_f64.sqrt()],
        ],
    );
    assert_steps(r#""square" | "sum""#, [[41.0, 17.0], [0.09, 0.36]]);
    assert_steps(
        r#""mean" | "tanh""#,
        [[tanh(3.0), tanh(-1.0)], [tanh(-0.1), tanh(0.2)]],
    );
    assert_steps(
        r#""sqrt" | "zero_nans" | "sum""#,
        [
            [1.0 + 2_f64.sqrt() + 6_f64.sqrt(), 1.0],
            [0.0, 0.6_f64.sqrt()],
        ],
    );
}

fn per_example() {
    assert_steps(
        r#""coordinate_statistics" | "sum""#,
        [[9.0, -3.0], [-0.3, 0.6]],
    );
    let (a, b, c) = (17_f64.sqrt(), 37_f64.sqrt(), 0.45_f64.sqrt());
    let clip = |bound: f64| {
        let step_1 = [
            bound / a + 2.0 + 6.0 * bound / b,
            -4.0 * bound / a + bound / b,
        ];
        [step_1, [-0.3, 0.6]]
    };
    assert_steps(
        r#"{"link": "clip_per_example", "max_norm": 3} | "sum""#,
        clip(3.0),
    );
    assert_steps(
        r#"{"link": "clip_per_example", "max_norm": 3, "over": "leaves"} | "sum""#,
        clip(3.0),
    );
    let unit = [1.0 / a + 1.0 + 6.0 / b, -4.0 / a + 1.0 / b];
    assert_steps(
        r#""normalize_per_example" | "sum""#,
        [unit, [-0.3 / c, 0.6 / c]],
    );
    assert_steps(
        r#"{"link": "scale_per_example", "weights": "importance"} | "sum""#,
        [[0.0, -4.0], [-0.3, 0.6]],
    );
}

fn over_examples() {
    assert_steps(r#""batch_mean""#, [[3.0, -1.0], [-0.1, 0.2]]);
    assert_steps(r#""majority""#, [[1.0, 0.0], [-1.0, 1.0]]);
    assert_steps(r#""max""#, [[6.0, 1.0], [0.0, 0.6]]);
    assert_steps(r#""mean""#, [[3.0, -1.0], [-0.1, 0.2]]);
    assert_steps(r#""median""#, [[2.0, 0.0], [0.0, 0.0]]);
    assert_steps(r#""min""#, [[1.0, -4.0], [-0.3, 0.0]]);
    assert_steps(r#""sum""#, [[9.0, -3.0], [-0.3, 0.6]]);
    assert_steps(
        r#"{"link": "trimmed_mean", "k": 1}"#,
        [[2.0, 0.0], [0.0, 0.0]],
    );
    assert_steps(r#""variance""#, [[14.0 / 3.0, 14.0 / 3.0], [0.02, 0.08]]);
    assert_steps(
        r#"{"link": "variance", "ddof": 1}"#,
        [[7.0, 7.0], [0.03, 0.12]],
    );
    // Step 2 is 0 but for rounding, so 1 is added.
    assert_steps(
        r#""unbiased_square_of_mean" | {"link": "add_scalar", "value": 1}"#,
        [[23.0 / 3.0, -1.0 / 3.0], [1.0, 1.0]],
    );
}

/// The gradients pass; what the metrics are is in [`monitor`](crate::monitor).
fn monitors() {
    for monitor in [
        r#"{"link": "cabs", "learning_rate": 0.1}"#,
        r#""cosine""#,
        r#""early_stopping""#,
        r#""gns""#,
        r#""gsnr""#,
        r#""inner_product_test""#,
        r#""norm_test""#,
        r#""orthogonality_test""#,
        r#""per_example_norms""#,
    ] {
        let sum = [[9.0, -3.0], [-0.3, 0.6]];
        assert_steps(&format!(r#"{monitor} | "sum""#), sum);
    }
    assert_steps(
        r#"{"link": "harm", "links": ["sum", {"link": "scale", "step_size": -1}]}"#,
        [[-9.0, 3.0], [0.3, -0.6]],
    );
}

#[test]
fn a_masked_leaf_does_not_decay() {
    let spec = ChainSpec::from_iter([
        LinkSpec::new("sum"),
        link(
            r#"{"link": "add_decayed_weights", "weight_decay": 0.5, "mask": {"not": {"matching": "w"}}}"#,
        ),
    ]);
    let mut input = inputs()[0].clone();
    crate::model::add_leaf(&mut input, "v", &[1], 3, vec![1.0, 2.0, 3.0]);
    input.params.insert("v".into(), HostTensor::new([1], [4.0]));
    let output = crate::model::step::<f64>(&build(&spec), &input);
    assert_eq!(w(&output), [9.0, -3.0]);
    assert_eq!(output.updates["v"].values, [8.0]);
}
