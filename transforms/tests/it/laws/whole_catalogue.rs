//! Laws of every link.

use pergrad_transforms::runner::{Runner, StepOutput};
use pergrad_transforms::spec::{ArgumentValue, Catalogue};
use pergrad_transforms::{Program, State};

use super::data;
use super::samples::{build, chains, link};
use super::shelf::OPTIMIZERS;
use crate::model::{reference, steps};
use crate::tolerance::{Tolerated, assert_close};

pub(super) fn assert_outputs<T: Tolerated>(
    got: &[StepOutput],
    expected: &[StepOutput],
    what: &str,
) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        for (path, update) in &expected.updates {
            assert_eq!(got.updates[path].shape, update.shape);
            assert_close::<T>(&got.updates[path].values, &update.values, what);
        }
        assert_eq!(got.metrics.len(), expected.metrics.len());
        for (name, metric) in &expected.metrics {
            assert_close::<T>(&got.metrics[name], metric, what);
        }
    }
}

#[test]
fn the_order_of_the_examples_does_not_matter() {
    fn check<T: Tolerated>() {
        for (spec, program) in chains() {
            let inputs = data::steps(&program, 3, 5, 3);
            let order = [3, 0, 4, 2, 1];
            let shuffled: Vec<_> = inputs
                .iter()
                .map(|input| data::reorder(input, &order))
                .collect();
            let got = steps::<T>(&program, &shuffled);
            let mut expected = steps::<T>(&program, &inputs);
            let metrics = expected.iter_mut().flat_map(|o| o.metrics.values_mut());
            for metric in metrics.filter(|metric| metric.len() % order.len() == 0) {
                // One number for each example goes with it, in each leaf.
                for leaf in metric.chunks_exact_mut(order.len()) {
                    leaf.copy_from_slice(&order.map(|b| leaf[b]));
                }
            }
            assert_outputs::<T>(&got, &expected, &spec.to_string());
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn the_same_steps_twice_give_the_same_bits() {
    for (spec, program) in chains() {
        let inputs = data::steps(&program, 3, 5, 3);
        let (first, second) = (
            steps::<f32>(&program, &inputs),
            steps::<f32>(&program, &inputs),
        );
        assert_eq!(format!("{first:?}"), format!("{second:?}"), "{spec}"); // NaN is equal to itself as text
    }
}

#[test]
fn zeros_in_give_finite_numbers_out() {
    fn check<T: Tolerated>() {
        for (spec, program) in chains() {
            let mut inputs = data::steps(&program, 4, 5, 3);
            for grads in inputs.iter_mut().flat_map(|input| input.grads.values_mut()) {
                grads.values.fill(0.0);
            }
            for output in steps::<T>(&program, &inputs) {
                let updates = output.updates.values().flat_map(|u| &u.values);
                let mut all = updates.chain(output.metrics.values().flatten());
                assert!(all.all(|x| x.is_finite()), "{spec}: {output:?}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

/// optax#1754, #1784, #1789: no update without a gradient, at any step.
#[test]
fn case_02_zero_gradients_leave_zero_parameters_at_zero_in_every_optimizer() {
    fn check<T: Tolerated>() {
        for (json, _) in OPTIMIZERS {
            if json.contains("yogi") {
                continue; // its averages do not begin with 0: small updates, finite and fading
            }
            let spec = [link(json)].into_iter().collect();
            let program = build(&spec);
            let mut inputs = data::steps(&program, 4, 5, 3);
            for input in &mut inputs {
                let tensors = input.grads.values_mut().chain(input.params.values_mut());
                tensors.for_each(|tensor| tensor.values.fill(0.0));
            }
            for output in steps::<T>(&program, &inputs) {
                let mut updates = output.updates.values().flat_map(|u| &u.values);
                assert!(updates.all(|x| *x == 0.0), "{spec}: {output:?}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn f32_and_f64_agree() {
    for (spec, program) in chains() {
        let inputs = data::steps(&program, 3, 5, 3);
        let (single, double) = (
            steps::<f32>(&program, &inputs),
            steps::<f64>(&program, &inputs),
        );
        assert_outputs::<f32>(&single, &double, &spec.to_string());
    }
}

#[test]
fn f32_gives_numbers_of_f32() {
    for (spec, program) in chains() {
        let inputs = data::steps(&program, 2, 5, 3);
        for output in steps::<f32>(&program, &inputs) {
            let mut updates = output.updates.values().flat_map(|u| &u.values);
            assert!(
                updates.all(|&x| x.is_nan() || f64::from(x as f32) == x),
                "{spec}"
            );
        }
    }
}

#[test]
fn a_program_survives_json() {
    for (spec, program) in chains() {
        let text = serde_json::to_string(&program).unwrap();
        let back: Program = serde_json::from_str(&text).unwrap();
        assert_eq!(back, program, "{spec}");
        assert_eq!(back.to_string(), program.to_string(), "{spec}");
    }
}

#[test]
fn a_specification_survives_json_and_toml() {
    for (spec, _) in chains() {
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(
            serde_json::from_str::<pergrad_transforms::spec::ChainSpec>(&json).unwrap(),
            spec
        );
        let toml = toml::to_string(&spec).unwrap();
        assert_eq!(
            toml::from_str::<pergrad_transforms::spec::ChainSpec>(&toml).unwrap(),
            spec,
            "{toml}"
        );
    }
}

#[test]
fn saving_and_loading_between_steps_changes_no_bit() {
    fn check<T: Tolerated>() {
        for (spec, program) in chains() {
            let inputs = data::steps(&program, 5, 5, 3);
            let uninterrupted = steps::<T>(&program, &inputs);
            let mut first = reference::<T>(&program, &inputs[0]);
            for input in &inputs[..2] {
                first.step(input).unwrap();
            }
            let text = serde_json::to_string(&first.state()).unwrap();
            let state: State = serde_json::from_str(&text).unwrap();
            assert_eq!(state, first.state(), "{spec}");

            let mut second = reference::<T>(&program, &inputs[0]);
            second.load(&state).unwrap();
            assert_eq!(
                serde_json::to_string(&second.state()).unwrap(),
                text,
                "{spec}"
            );
            let rest = inputs[2..].iter().map(|input| second.step(input).unwrap());
            let rest: Vec<_> = rest.collect();
            assert_eq!(
                format!("{rest:?}"),
                format!("{:?}", &uninterrupted[2..]),
                "{spec}"
            );
        }
    }
    check::<f32>();
    check::<f64>();
}

/// Each element of each leaf is computed on its own, but for norms: leaves of other sizes change nothing else.
#[test]
fn updates_have_the_shapes_of_the_leaves() {
    for size in [0, 1, 5, 33] {
        for (spec, program) in chains() {
            let inputs = data::steps(&program, 2, 3, size);
            for output in steps::<f32>(&program, &inputs) {
                assert_eq!(output.updates["v.bias"].shape, [size], "{spec}");
                assert_eq!(output.updates["w"].shape, [2, 2], "{spec}");
            }
        }
    }
}

/// The table of the catalogue is text; giving each of its defaults must change nothing.
#[test]
fn the_defaults_that_the_catalogue_tells_are_the_defaults() {
    let catalogue = Catalogue::standard();
    for (spec, program) in chains() {
        let inputs = data::steps(&program, 3, 5, 3);
        let expected = steps::<f64>(&program, &inputs);
        for at in 0..spec.links.len() {
            let entry = catalogue.get(&spec.links[at].link).unwrap();
            for argument in entry.arguments {
                let Some(default) = argument.default else {
                    continue;
                };
                let mut full = spec.clone();
                let value = match serde_json::from_str(default) {
                    Ok(value) => value,
                    Err(_) if default == "none" => ArgumentValue::Null,
                    // "inf" is a number.
                    Err(_) => serde_json::from_value(default.into()).unwrap(),
                };
                let arguments = &mut full.links[at].arguments;
                arguments.entry(argument.name.to_owned()).or_insert(value);
                let got = steps::<f64>(&build(&full), &inputs);
                assert_outputs::<f64>(&got, &expected, &full.to_string());
            }
        }
    }
}
