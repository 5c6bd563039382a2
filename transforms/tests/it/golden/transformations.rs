//! Transformations and optimizers, step by step over given gradients.

use pergrad_transforms::reference::Reference;
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

/// The first difference between the case and the program.
fn difference(case: &Case, program: &Program) -> Option<String> {
    let mut input = StepInput {
        params: case.params(),
        ..StepInput::default()
    };
    let mut reference = Reference::<f64>::new(program, &tree(&input.params)).unwrap();
    for (step, (grads, want)) in case.grads().into_iter().zip(case.updates()).enumerate() {
        input.grads = grads;
        if let Some(losses) = &case.values {
            input.extras.insert("loss".to_owned(), vec![losses[step].0]);
        }
        let got = reference.step(&input).unwrap().updates;
        if let Some(difference) = differ(case, &got, &want) {
            return Some(format!("{} step {step} {difference}", case.name));
        }
        // On the path of the library, so that one step's rounding is not the next one's error.
        for (path, update) in &want {
            let params = input.params.get_mut(path).unwrap().values.iter_mut();
            params.zip(&update.values).for_each(|(p, u)| *p += u);
        }
    }
    let end = differ(case, &input.params, &case.final_params());
    end.map(|difference| format!("{} at the end {difference}", case.name))
}

fn differ(case: &Case, got: &HostTree, want: &HostTree) -> Option<String> {
    for (path, want) in want {
        assert_eq!(got[path].shape, want.shape, "{} {path}", case.name);
        for (at, (got, want)) in got[path].values.iter().zip(&want.values).enumerate() {
            if !case.allows(*got, *want) {
                return Some(format!("{path}[{at}]: {got:e} instead of {want:e}"));
            }
        }
    }
    None
}

/// Runs the cases of a file, but for those that we have no links for and those in which we differ on purpose.
fn check(file: &str, unsupported: &[(&str, &str)], different: &[(&str, &str)]) {
    let (mut missing, mut differences) = (Vec::new(), Vec::new());
    for case in cases(file) {
        match program(&case) {
            Err(error) => missing.push((case.name, error.to_string())),
            Ok(program) => differences.extend(difference(&case, &program).map(|d| (case.name, d))),
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
    check("aggregated_contrib", &[], &[]);
}

#[test]
fn quirks_of_optax() {
    check("aggregated_quirks", &[], &[]);
}

#[test]
fn numbers_that_are_none_have_the_updates_of_optax() {
    check("aggregated_nonfinite", &[], &[]);
}
