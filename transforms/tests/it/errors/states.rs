//! Saved states that do not belong to a chain and its model.

use pergrad_transforms::prelude::*;
use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::Runner;
use pergrad_transforms::{Program, State};

use crate::model::{batch, reference};

fn chain_of_two() -> Program {
    program(&chain((mean(), ema(0.9).debias(false), trace(0.5)))).unwrap()
}

fn run(program: &Program) -> Reference<f64> {
    let input = batch([[1.0, 2.0]]);
    let mut reference = reference::<f64>(program, &input);
    reference.step(&input).unwrap();
    reference
}

/// The error of loading a changed state; the reference must be as before.
fn refused(change: impl FnOnce(&mut State)) -> String {
    let mut reference = run(&chain_of_two());
    let before = reference.state();
    let mut state = before.clone();
    change(&mut state);
    let error = reference.load(&state).unwrap_err();
    assert_eq!(reference.state(), before, "nothing has changed");
    error.to_string()
}

#[test]
fn slots_that_do_not_fit_are_refused() {
    insta::assert_snapshot!(refused(|s| { s.slots.remove(0); }), @r"
the state does not fit:
  `ema.moment` of leaf `w` is missing
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| s.slots[0].name = "emma.moment".into()), @r"
the state does not fit:
  `ema.moment` of leaf `w` is missing
  `emma.moment` of leaf `w` is extra
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| s.slots[1].leaf = Some("v".into())), @r"
the state does not fit:
  `trace.sum` of leaf `w` is missing
  `trace.sum` of leaf `v` is extra
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| s.slots[1].leaf = None), @r"
the state does not fit:
  `trace.sum` of leaf `w` is missing
  `trace.sum` is extra
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| s.slots[0].shape = vec![3]), @r"
the state does not fit:
  `ema.moment` of leaf `w` has the shape [3], but [2] is needed
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| { s.slots[0].values.pop(); }), @r"
the state does not fit:
  `ema.moment` of leaf `w` has 1 values for the shape [2]
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| {
        let again = s.slots[0].clone();
        s.slots.push(again);
    }), @r"
the state does not fit:
  `ema.moment` of leaf `w` is there twice
load the state that was saved for this chain and model, or go on with a new optimizer
");
}

#[test]
fn a_state_of_another_version_or_chain_is_refused() {
    insta::assert_snapshot!(refused(|s| s.version = 99), @r"
the state does not fit:
  it has layout 99, but this version reads layout 1
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| { s.hypers.pop(); }), @r#"
the state does not fit:
  its hyper-parameters are ["ema.decay"], but the chain has ["ema.decay", "trace.decay"]
load the state that was saved for this chain and model, or go on with a new optimizer
"#);
    let other = |chain: Program| {
        let state = run(&chain).state();
        run(&chain_of_two()).load(&state).unwrap_err().to_string()
    };
    let nesterov = chain((mean(), ema(0.9).debias(false), trace(0.5).nesterov(true)));
    insta::assert_snapshot!(other(program(&nesterov).unwrap()), @r"
the state does not fit:
  it belongs to another chain: the state has `%7 = mul %6 $trace.decay : [P]`, this chain has `@ema.moment <- %4`
load the state that was saved for this chain and model, or go on with a new optimizer
");
    let shorter = chain((mean(), ema(0.9).debias(false)));
    insta::assert_snapshot!(other(program(&shorter).unwrap()), @r#"
the state does not fit:
  it belongs to another chain: the state has `%0 = mean_B g : [P]`, this chain has `@trace.sum : [P] = 0`
  its hyper-parameters are ["ema.decay"], but the chain has ["ema.decay", "trace.decay"]
  `trace.sum` of leaf `w` is missing
load the state that was saved for this chain and model, or go on with a new optimizer
"#);
}

#[test]
fn a_rule_that_only_ends_earlier_is_told_by_the_line_that_is_missing() {
    insta::assert_snapshot!(refused(|s| {
        let end = s.rule.trim_end().rfind('\n').unwrap();
        s.rule.truncate(end + 1);
    }), @r"
the state does not fit:
  it belongs to another chain: the state ends, where this chain has `updates = %6`
load the state that was saved for this chain and model, or go on with a new optimizer
");
    insta::assert_snapshot!(refused(|s| s.rule.push_str("more = %0\n")), @r"
the state does not fit:
  it belongs to another chain: the state has `more = %0`, where this chain ends
load the state that was saved for this chain and model, or go on with a new optimizer
");
}

#[test]
fn other_values_of_hyper_parameters_fit_and_are_taken_over() {
    let mut saved = run(&chain_of_two()).state();
    saved.hypers[1].1 = 0.0.into();
    let mut reference = run(&chain_of_two());
    reference.load(&saved).unwrap();
    assert_eq!(reference.state(), saved);
    saved.hypers[1].1 = f64::NAN.into();
    let error = reference.load(&saved).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`trace.decay` must be a number from 0 to 1, but it is NaN")
    );
}

#[test]
fn a_state_of_another_model_is_refused() {
    let narrow = batch([[1.0]]);
    let mut other = reference::<f64>(&chain_of_two(), &narrow);
    other.step(&narrow).unwrap();
    let error = run(&chain_of_two()).load(&other.state()).unwrap_err();
    insta::assert_snapshot!(error, @r"
the state does not fit:
  `ema.moment` of leaf `w` has the shape [1], but [2] is needed
  `trace.sum` of leaf `w` has the shape [1], but [2] is needed
load the state that was saved for this chain and model, or go on with a new optimizer
");
}
