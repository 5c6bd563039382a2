//! Transformations and optimizers, step by step over given gradients.

use pergrad_transforms::reference::{Element, Reference};
use pergrad_transforms::runner::{HostTree, Runner, StepInput};
use pergrad_transforms::spec::Catalogue;
use pergrad_transforms::{AxisKind, Error, Program};

use super::convert::chain;
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

/// The first difference between the case and the program.
fn difference<T: Element>(case: &Case, program: &Program, allows: Allows<'_>) -> Option<String> {
    let mut input = StepInput {
        params: case.params(),
        ..StepInput::default()
    };
    let mut reference = Reference::<T>::new(program, &tree(&input.params)).unwrap();
    for (step, (grads, want)) in case.grads().into_iter().zip(case.updates()).enumerate() {
        input.grads = grads;
        if let Some(losses) = &case.values {
            input.extras.insert("loss".to_owned(), vec![losses[step].0]);
        }
        let got = reference.step(&input).unwrap().updates;
        if let Some(difference) = differ(&got, &want, allows) {
            return Some(format!("{} step {step} {difference}", case.name));
        }
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

/// In f64, by the tolerance of the case.
fn in_f64(case: &Case, program: &Program) -> Option<String> {
    difference::<f64>(case, program, &|_, _, got, want| case.allows(got, want))
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
    difference::<f32>(case, program, &|path, at, got, want| {
        (got - want).abs() <= 1e-5 * want.abs() + 1e-6 * scale(path, at)
    })
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
    ];
    let cases = files.iter().flat_map(|file| cases(file));
    let chains = cases.map(|case| chain(case.transform.as_ref().expect("a transformation")));
    let links = chains.flat_map(|chain| chain.links);
    links.map(|link| link.link).collect()
}

const WRAPPER: &str = "a wrapper around another optimizer";

#[test]
fn optimizers_have_the_updates_of_optax() {
    check("aggregated_aliases", &[], &[]);
}

#[test]
fn transformations_have_the_updates_of_optax() {
    check("aggregated_pieces", &[], &[]);
}

#[test]
fn contributed_optimizers_have_the_updates_of_optax() {
    let lbfgs =
        "a ring of past differences, and a line search that evaluates the loss within a step";
    let unsupported = [
        ("schedule_free_sgd", WRAPPER),
        ("schedule_free_sgd_warmup", WRAPPER),
        ("schedule_free_adamw", WRAPPER),
        ("schedule_free_adamw_decay", WRAPPER),
        ("schedule_free_momentum", WRAPPER),
        ("mechanize_sgd", WRAPPER),
        ("lbfgs_memory_3", lbfgs),
        ("lbfgs_unscaled", lbfgs),
        ("sam", WRAPPER),
        ("sam_3", WRAPPER),
    ];
    let different = [(
        "acprop",
        "this version centers with the average before the step, the paper and later versions with the one after it",
    )];
    check("aggregated_contrib", &unsupported, &different);
}

/// The two that are left differ in f64 too, or end at 0, where only the parameters' own rounding is left.
#[test]
fn f32_has_the_updates_of_optax() {
    let files = [
        "aggregated_aliases",
        "aggregated_pieces",
        "aggregated_contrib",
    ];
    let mut different = Vec::new();
    for case in files.iter().flat_map(|file| cases(file)) {
        let difference = program(&case).ok().and_then(|p| in_f32(&case, &p));
        different.extend(difference.map(|difference| (case.name, difference)));
    }
    let names: Vec<_> = different.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["acprop", "cocob"], "{different:#?}");
}

#[test]
fn quirks_of_optax() {
    let unsupported = [
        ("multi_steps_nan_poisons", WRAPPER),
        ("schedule_free_count_from_1", WRAPPER),
    ];
    let different = [
        ("clip_by_global_norm_0_of_0", "zeros"),
        ("apply_every_nan_poisons", "the NaN is gone with its sum"),
        ("contrib_normalize_zero", "zeros"),
        ("radam_low_threshold", "a threshold below 4 is 4"),
    ];
    check("aggregated_quirks", &unsupported, &different);
}

#[test]
fn numbers_that_are_none_have_the_updates_of_optax() {
    let unsupported = [
        ("apply_if_finite_adam", WRAPPER),
        ("apply_if_finite_momentum", WRAPPER),
        ("apply_if_finite_gives_up", WRAPPER),
        ("apply_if_finite_never", WRAPPER),
        ("multi_steps_skip_not_finite", WRAPPER),
    ];
    check("aggregated_nonfinite", &unsupported, &[]);
}
