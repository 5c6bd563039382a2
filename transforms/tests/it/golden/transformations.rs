//! Transformations and optimizers, step by step over given gradients.

use pergrad_transforms::reference::{Element, Reference};
use pergrad_transforms::runner::{HostTree, Runner, StepInput};
use pergrad_transforms::spec::Catalogue;
use pergrad_transforms::{AxisKind, Error, Program};

use super::convert::chain;
use super::extras::{self, Taken};
use super::file::{Case, cases};
use crate::model::tree;

/// The program of a case, or why there is none.
fn program(case: &Case) -> Result<Program, Error> {
    let spec = chain(case.transform.as_ref().expect("a transformation"));
    let chain = Catalogue::standard().build(&spec)?;
    chain.program_over(AxisKind::Aggregated)
}

/// Whether an element at a place may have a value instead of the one that is wanted.
type Allows<'a> = &'a dyn Fn(&str, usize, f64, f64) -> bool;

/// The first difference between the case and the program; `look` sees each step.
fn difference<T: Element>(
    case: &Case,
    program: &Program,
    allows: Allows<'_>,
    look: impl Fn(usize, &Taken<'_>),
) -> Option<String> {
    let mut input = StepInput {
        params: case.params(),
        ..StepInput::default()
    };
    let mut reference = Reference::<T>::new(program, &tree(&input.params)).unwrap();
    for (step, (grads, want)) in case.grads().into_iter().zip(case.updates()).enumerate() {
        input.grads = grads;
        for extra in program.extras() {
            let value = case.values.as_ref().expect("values")[step].0;
            input.extras.insert(extra.name.clone(), vec![value]);
        }
        let before = reference.state();
        let output = reference.step(&input).unwrap();
        if let Some(difference) = differ(&output.updates, &want, allows) {
            return Some(format!("{} step {step} {difference}", case.name));
        }
        let taken = Taken {
            output: &output,
            before: &before,
            after: &reference.state(),
            params: &input.params,
        };
        look(step, &taken);
        // On the path of the library, so that one step's rounding is not the next one's error.
        for (path, update) in &want {
            let params = input.params.get_mut(path).unwrap().values.iter_mut();
            params.zip(&update.values).for_each(|(p, u)| *p += u);
        }
    }
    let end = differ(&input.params, &case.final_params(), allows);
    end.map(|difference| format!("{} at the end {difference}", case.name))
}

fn differ(got: &HostTree, want: &HostTree, allows: Allows<'_>) -> Option<String> {
    for (path, want) in want {
        assert_eq!(got[path].shape, want.shape, "{path}");
        for (at, (got, want)) in got[path].values.iter().zip(&want.values).enumerate() {
            if !allows(path, at, *got, *want) {
                return Some(format!("{path}[{at}]: {got:e} instead of {want:e}"));
            }
        }
    }
    None
}

/// In f64, by the tolerance of the case, with what is counted beside the updates.
fn in_f64(case: &Case, program: &Program) -> Option<String> {
    let allows = |_: &str, _, got, want| case.allows(got, want);
    difference::<f64>(case, program, &allows, |step, taken| {
        extras::check(case, step, taken);
    })
}

/// In f32, 1e-5 and 1e-6 of the largest element; of the largest at the same place where elements differ by many orders.
fn in_f32(case: &Case, program: &Program) -> Option<String> {
    let updates = case.updates();
    let wide = ["_mixed", "_tiny", "_huge"]
        .iter()
        .any(|end| case.name.ends_with(end));
    let tensors = updates.iter().flat_map(|step| step.values());
    let largest = tensors.flat_map(|tensor| &tensor.values);
    let largest = largest.fold(0.0, |m: f64, x| m.max(x.abs()));
    let scale = |path: &str, at: usize| {
        let steps = updates.iter().map(|step| step[path].values[at].abs());
        if wide {
            steps.fold(0.0, f64::max)
        } else {
            largest
        }
    };
    let allows = |path: &str, at, got: f64, want: f64| {
        (got - want).abs() <= 1e-5 * want.abs() + 1e-6 * scale(path, at)
    };
    difference::<f32>(case, program, &allows, |_, _| {})
}

/// Runs the cases of a file, but for those that we have no links for and those in which we differ on purpose.
fn check(file: &str, unsupported: &[(&str, &str)], different: &[(&str, &str)]) {
    let (mut missing, mut differences) = (Vec::new(), Vec::new());
    for case in cases(file) {
        match program(&case) {
            Err(error) => missing.push((case.name, error.to_string())),
            Ok(program) => differences.extend(in_f64(&case, &program).map(|d| (case.name, d))),
        }
    }
    for (what, found, expected) in [
        ("without links", missing, unsupported),
        ("with other values", differences, different),
    ] {
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        let expected: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, expected, "{file} {what}: {found:#?}");
    }
}

/// The links that have values of the library.
pub(crate) fn names() -> Vec<String> {
    let files = [
        "aggregated_aliases",
        "aggregated_pieces",
        "aggregated_contrib",
        "aggregated_wrappers",
    ];
    let cases = files.iter().flat_map(|file| cases(file));
    let chains = cases.map(|case| chain(case.transform.as_ref().expect("a transformation")));
    let links = chains.flat_map(|chain| chain.links);
    links.map(|link| link.link).collect()
}

#[test]
fn optimizers_have_the_updates_of_optax() {
    check("aggregated_aliases", &[], &[]);
}

#[test]
fn transformations_have_the_updates_of_optax() {
    check("aggregated_pieces", &[], &[]);
}

#[test]
fn wrappers_have_the_updates_of_optax() {
    check("aggregated_wrappers", &[], &[]);
}

#[test]
fn contributed_optimizers_have_the_updates_of_optax() {
    let lbfgs =
        "a ring of past differences, and a line search that evaluates the loss within a step";
    let unsupported = [("lbfgs_memory_3", lbfgs), ("lbfgs_unscaled", lbfgs)];
    let different = [(
        "acprop",
        "this version centers with the average before the step, the paper and later versions with the one after it",
    )];
    check("aggregated_contrib", &unsupported, &different);
}

/// Those that are left differ in f64 too, or give differences of parameters, where only the parameters' own rounding is left.
#[test]
fn f32_has_the_updates_of_optax() {
    let files = [
        "aggregated_aliases",
        "aggregated_pieces",
        "aggregated_contrib",
        "aggregated_wrappers",
    ];
    let mut different = Vec::new();
    for case in files.iter().flat_map(|file| cases(file)) {
        let difference = program(&case).ok().and_then(|p| in_f32(&case, &p));
        different.extend(difference.map(|difference| (case.name, difference)));
    }
    let names: Vec<_> = different.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["acprop", "cocob", "mechanize_sgd"],
        "{different:#?}"
    );
}

#[test]
fn quirks_of_optax() {
    let different = [
        ("clip_by_global_norm_0_of_0", "zeros"),
        ("multi_steps_nan_poisons", "the NaN is gone with its mean"),
        ("apply_every_nan_poisons", "the NaN is gone with its sum"),
        ("contrib_normalize_zero", "zeros"),
        ("radam_low_threshold", "a threshold below 4 is 4"),
    ];
    check("aggregated_quirks", &[], &different);
}

#[test]
fn numbers_that_are_none_have_the_updates_of_optax() {
    check("aggregated_nonfinite", &[], &[]);
}

/// Two quirks that are not followed: optax multiplies by 0 what is not given out, so that a NaN is in those zeros, and stays for
/// ever.
#[test]
fn a_nan_is_in_the_step_it_belongs_to_and_in_no_other() {
    let mut found = 0;
    for case in cases("aggregated_quirks") {
        let last = match case.name.as_str() {
            "multi_steps_nan_poisons" => -1.0,
            "apply_every_nan_poisons" => 2.0,
            _ => continue,
        };
        found += 1;
        let params = case.params();
        let program = program(&case).unwrap();
        let mut reference = Reference::<f64>::new(&program, &tree(&params)).unwrap();
        let steps = case.grads().into_iter().map(|grads| {
            let input = StepInput {
                grads,
                params: params.clone(),
                ..StepInput::default()
            };
            reference.step(&input).unwrap().updates["w"].values.clone()
        });
        let steps: Vec<Vec<f64>> = steps.collect();
        assert_eq!(steps[0], [0.0; 6]);
        assert!(steps[1].iter().all(|x| x.is_nan()));
        assert_eq!(steps[2..], [[0.0; 6], [last; 6]]);
    }
    assert_eq!(found, 2);
}
