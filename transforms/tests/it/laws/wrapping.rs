//! Laws of links around links, over random chains: a wrapper that changes nothing is the chain, one that lets nothing through leaves
//! no trace, and a selection of leaves is a smaller model.

use pergrad_transforms::runner::{HostTensor, Runner, StepInput, StepOutput};
use pergrad_transforms::spec::{Catalogue, ChainSpec, LinkSpec};
use pergrad_transforms::{AxisKind, Program};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::data;
use super::samples::{SAMPLES, Stands, link};
use crate::model::{reference, steps};
use crate::tolerance::assert_close;

/// The samples that may stand after a reduction.
fn after() -> Vec<&'static str> {
    let stands = |stands| !matches!(stands, Stands::Before | Stands::Reduces);
    let samples = SAMPLES.iter().filter(|(s, _)| stands(*s));
    samples.map(|(_, json)| *json).collect()
}

fn random_links() -> impl Strategy<Value = Vec<Value>> {
    let link = prop::sample::select(after());
    let link = link.prop_map(|json| serde_json::from_str(json).unwrap());
    prop::collection::vec(link, 0..4)
}

fn program(links: &[Value]) -> Program {
    let spec: ChainSpec = serde_json::from_value(json!(links)).unwrap();
    let chain = Catalogue::standard().build(&spec).unwrap();
    chain.program_over(AxisKind::Aggregated).unwrap()
}

/// A wrapper around links, with the arguments of a table.
fn wrapped(name: &str, links: &[Value], mut arguments: Value) -> Program {
    arguments["link"] = json!(name);
    arguments["links"] = json!(links);
    program(&[arguments])
}

/// Aggregated gradients for a program.
fn inputs(program: &Program) -> Vec<StepInput> {
    let mut inputs = data::steps(program, 4, 1, 3);
    for grads in inputs.iter_mut().flat_map(|input| input.grads.values_mut()) {
        grads.shape.remove(0);
    }
    inputs
}

fn updates(outputs: &[StepOutput]) -> String {
    // NaN is equal to itself as text, and -0 plus 0 is 0.
    let values = |output: &StepOutput| -> Vec<f64> {
        let values = output.updates.values().flat_map(|u| &u.values);
        values.map(|x| x + 0.0).collect()
    };
    format!("{:?}", outputs.iter().map(values).collect::<Vec<_>>())
}

fn run(program: &Program, inputs: &[StepInput]) -> String {
    updates(&steps::<f64>(program, inputs))
}

/// The updates of a step that passes the gradients on.
fn passed(inputs: &[StepInput]) -> String {
    let output = |input: &StepInput| StepOutput {
        updates: input.grads.clone(),
        ..StepOutput::default()
    };
    updates(&inputs.iter().map(output).collect::<Vec<_>>())
}

fn assert_untouched(program: &Program, inputs: &[StepInput]) {
    let mut reference = reference::<f64>(program, &inputs[0]);
    let before = reference.state().slots;
    for input in inputs {
        reference.step(input).unwrap();
    }
    assert_eq!(reference.state().slots, before);
}

proptest! {
    #[test]
    fn masked_everywhere_is_the_chain(links in random_links()) {
        let expected = program(&links).to_string();
        prop_assert_eq!(wrapped("masked", &links, json!({"leaves": true})).to_string(), expected.clone());
        let parts = json!({"link": "partition", "parts": [{"leaves": "all", "links": links}]});
        prop_assert_eq!(program(&[parts]).to_string(), expected);
    }

    #[test]
    fn masked_nowhere_is_nothing(links in random_links()) {
        let program = wrapped("masked", &links, json!({"leaves": false}));
        let inputs = inputs(&program);
        prop_assert_eq!(run(&program, &inputs), passed(&inputs));
        let state = reference::<f64>(&program, &inputs[0]).state();
        prop_assert!(state.slots.iter().all(|slot| slot.leaf.is_none()), "{state:?}");
    }

    #[test]
    fn masked_is_the_chain_over_a_smaller_model(links in random_links()) {
        let text = json!(links).to_string();
        // The random numbers of a leaf are those of its place among all leaves.
        prop_assume!(!text.contains("matching") && !text.contains("seed"));
        let program = wrapped("masked", &links, json!({"leaves": {"matching": "w"}}));
        let inputs = inputs(&program);
        let mut small = inputs.clone();
        for input in &mut small {
            input.grads.remove("v.bias");
            input.params.remove("v.bias");
        }
        let mut got = steps::<f64>(&program, &inputs);
        for (output, input) in got.iter_mut().zip(&inputs) {
            let passed = output.updates.remove("v.bias").unwrap();
            prop_assert_eq!(passed, input.grads["v.bias"].clone());
        }
        prop_assert_eq!(updates(&got), run(&self::program(&links), &small));
    }

    #[test]
    fn a_guard_that_always_holds_is_the_chain(links in random_links()) {
        let plain = program(&links);
        let expected = run(&plain, &inputs(&plain));
        for (name, arguments) in [
            ("conditionally_transform", json!({"condition": {"step_ge": 0}})),
            ("conditionally_mask", json!({"condition": {"step_multiple_of": 1}})),
            ("accumulate", json!({"every_k": 1})),
            ("skip_large_updates", json!({"max_squared_norm": 1e30})),
            ("skip_not_finite", json!({})),
            ("apply_if_finite", json!({"max_consecutive_errors": 0})),
            ("lookahead", json!({"sync_period": 1000, "slow_step_size": 0.5, "reset_state": true})),
            ("sam", json!({"adversary": "set_to_zero", "sync_period": 1})),
        ] {
            let program = wrapped(name, &links, arguments);
            prop_assert_eq!(run(&program, &inputs(&plain)), expected.clone(), "{}", name);
        }
    }

    #[test]
    fn a_guard_that_never_holds_leaves_no_trace(links in random_links()) {
        for (name, arguments, passes) in [
            ("conditionally_transform", json!({"condition": {"step_lt": 0}}), true),
            ("conditionally_mask", json!({"condition": {"step_ge": 1000}}), false),
            ("skip_large_updates", json!({"max_squared_norm": 0}), false),
        ] {
            let program = wrapped(name, &links, arguments);
            let inputs = inputs(&program);
            let mut expected = inputs.clone();
            for grads in expected.iter_mut().flat_map(|input| input.grads.values_mut()) {
                if !passes {
                    grads.values.fill(0.0);
                }
            }
            prop_assert_eq!(run(&program, &inputs), passed(&expected));
            assert_untouched(&program, &inputs);
        }
    }

    /// What a step that is not taken would have computed is of no consequence, be it NaN in every element.
    #[test]
    fn a_step_that_is_skipped_was_never_there(links in random_links()) {
        let program = wrapped("skip_not_finite", &links, json!({}));
        let inputs = inputs(&program);
        let mut interrupted = inputs.clone();
        let mut wrong = inputs[1].clone();
        for grads in wrong.grads.values_mut() {
            grads.values.fill(f64::NAN);
        }
        interrupted.insert(1, wrong);
        let mut got = steps::<f64>(&program, &interrupted);
        let skipped = got.remove(1);
        prop_assert!(skipped.updates.values().flat_map(|u| &u.values).all(|x| *x == 0.0));
        prop_assert_eq!(updates(&got), run(&program, &inputs));
    }

    #[test]
    fn state_that_is_reset_is_that_of_the_beginning(links in random_links()) {
        let arguments = json!({"sync_period": 2, "slow_step_size": 1, "reset_state": true});
        let program = wrapped("lookahead", &links, arguments);
        let inputs = inputs(&program);
        let mut reference = reference::<f64>(&program, &inputs[0]);
        let inner = |state: pergrad_transforms::State| {
            let mut slots = state.slots;
            slots.retain(|slot| slot.name != "lookahead.slow");
            slots
        };
        let before = inner(reference.state());
        reference.step(&inputs[0]).unwrap();
        reference.step(&inputs[1]).unwrap();
        prop_assert_eq!(inner(reference.state()), before);
    }
}

#[test]
fn flattened_leaves_are_one() {
    for (inside, outside) in [
        (
            r#"{"link": "normalize_per_example", "over": "leaves"}"#,
            r#"{"link": "normalize_per_example"}"#,
        ),
        (
            r#"{"link": "clip_per_example", "max_norm": 2, "over": "leaves"}"#,
            r#"{"link": "clip_per_example", "max_norm": 2}"#,
        ),
        (
            r#"{"link": "clip_per_example", "max_norm": 2, "over": "leaves_by_size"}"#,
            r#"{"link": "clip_per_example", "max_norm": 2}"#,
        ),
    ] {
        let build = |link: LinkSpec| {
            let spec = ChainSpec::from_iter([link, LinkSpec::new("mean")]);
            super::samples::build(&spec)
        };
        let flat = build(link(&format!(
            r#"{{"link": "flatten", "links": [{inside}]}}"#
        )));
        let plain = build(link(outside));
        let inputs = data::steps(&plain, 2, 5, 3);
        assert_eq!(run(&flat, &inputs), run(&plain, &inputs), "{inside}");
    }
}

/// What looks at the axes of a leaf sees one vector.
#[test]
fn flattened_leaves_are_one_vector() {
    for json in [
        r#"{"link": "adaptive_grad_clip", "clipping": 0.5}"#,
        r#"{"link": "adaptive_grad_clip", "clipping": 0.5, "axis": [1]}"#,
        r#"{"link": "adaptive_grad_clip", "clipping": 0.5, "axis": [0]}"#,
        r#""centralize""#,
        r#"{"link": "scale_by_factored_rms", "min_dim_size_to_factor": 2}"#,
        r#"{"link": "scale_by_muon", "ns_steps": 1}"#,
        r#""scale_by_sm3""#,
        r#"{"link": "adafactor", "learning_rate": 0.1, "min_dim_size_to_factor": 2}"#,
        r#"{"link": "muon", "learning_rate": 0.1}"#,
    ] {
        let build = |json: &str| {
            let spec = ChainSpec::from_iter([LinkSpec::new("mean"), link(json)]);
            super::samples::build(&spec)
        };
        let flat = build(&format!(r#"{{"link": "flatten", "links": [{json}]}}"#));
        let leaves = data::steps(&flat, 3, 5, 3);
        let got = steps::<f64>(&flat, &leaves);
        let vectors: Vec<_> = leaves.iter().map(one_vector).collect();
        let expected = steps::<f64>(&build(json), &vectors);
        for (got, expected) in got.iter().zip(&expected) {
            let updates = got.updates.values().flat_map(|leaf| &leaf.values);
            let updates: Vec<f64> = updates.copied().collect();
            assert_close::<f64>(&updates, &expected.updates["w"].values, json);
        }
    }
}

/// All leaves after each other in one.
fn one_vector(input: &StepInput) -> StepInput {
    let mut out = StepInput {
        extras: input.extras.clone(),
        ..StepInput::default()
    };
    let all = input.params.values().flat_map(|leaf| &leaf.values);
    let params: Vec<f64> = all.copied().collect();
    let size = params.len();
    let examples = input.grads.values().next().expect("a leaf").shape[0];
    let mut grads = Vec::new();
    for b in 0..examples {
        for leaf in input.grads.values() {
            let p = leaf.values.len() / examples;
            grads.extend_from_slice(&leaf.values[b * p..(b + 1) * p]);
        }
    }
    let tensor = HostTensor::new([examples, size], grads);
    out.grads.insert("w".into(), tensor);
    out.params
        .insert("w".into(), HostTensor::new([size], params));
    out
}
