//! Wrappers of a specification that cannot be built, or cannot stand where they stand.

use pergrad_transforms::Error;
use pergrad_transforms::prelude::*;
use pergrad_transforms::spec::{Catalogue, ChainSpec};

fn build(json: &str) -> Error {
    let spec: ChainSpec = serde_json::from_str(json).unwrap();
    let chain = Catalogue::standard().build(&spec);
    let program = chain.and_then(|chain| chain.optimizer_program());
    program.unwrap_err()
}

#[test]
fn links_that_do_not_fit_inside_are_refused() {
    insta::assert_snapshot!(build(r#"["mean", {"link": "masked", "links": ["mean"], "leaves": "all"}]"#), @"the argument `links` of `masked` must be links that give what they take: the examples apart, or aggregated gradients, but it is mean()");
    insta::assert_snapshot!(build(r#"["mean", {"link": "accumulate", "links": ["mean"], "every_k": 2}]"#), @"the argument `links` of `accumulate` must be links that take aggregated gradients and give such, as after a `mean`, but it is mean()");
    insta::assert_snapshot!(build(r#"[{"link": "partition", "parts": [{"leaves": "all", "links": "mean"}, {"leaves": "all", "links": "sign"}]}]"#), @"the argument `parts` of `partition` must be parts that all take the same gradients and give the same, but it is a list of 2");
    insta::assert_snapshot!(build(r#"["mean", {"link": "flatten", "links": ["maen"]}]"#), @"there is no link `maen`: did you mean `mean`?");
}

#[test]
fn arguments_of_another_kind_are_refused() {
    insta::assert_snapshot!(build(r#"["mean", {"link": "masked", "links": ["sign"]}]"#), @r#"`masked` needs the argument `leaves`, a selection of leaves, such as {"matching": "*.weight"}"#);
    insta::assert_snapshot!(build(r#"["mean", {"link": "masked", "links": ["sign"], "leaves": 3}]"#), @r#"the argument `leaves` of `masked` must be a selection of leaves, such as {"matching": "*.weight"}, but it is 3"#);
    insta::assert_snapshot!(build(r#"["mean", {"link": "partition", "parts": []}]"#), @"the argument `parts` of `partition` must be parts that all take the same gradients and give the same, but it is a list of 0");
    insta::assert_snapshot!(build(r#"["mean", {"link": "partition", "parts": [{"leaves": "all"}]}]"#), @"the argument `parts` of `partition` must be a list of tables with `leaves` and `links`, but it is a table with leaves");
    insta::assert_snapshot!(build(r#"["mean", {"link": "conditionally_mask", "links": "sign", "condition": {"step_gt": 2}}]"#), @r#"the argument `condition` of `conditionally_mask` must be a condition on the steps, such as {"step_lt": 3}, {"step_ge": 3} or {"step_multiple_of": 3}, but it is a table with step_gt"#);
}

#[test]
fn a_wrapper_that_skips_steps_before_the_reduction_is_refused() {
    insta::assert_snapshot!(build(r#"[{"link": "skip_not_finite", "links": ["sign"]}, "mean"]"#), @"link 0 `skip_not_finite` takes aggregated [..p] gradients, but gets per-example [B, ..p] ones: it keeps state or a norm in the shape of the parameters, so move it after a reduction over examples such as `mean`");
}

#[test]
fn hyper_parameters_of_wrappers_that_make_no_sense_are_refused() {
    let refused =
        |chain: &dyn Fn() -> Result<pergrad_transforms::Program, Error>| chain().unwrap_err();
    insta::assert_snapshot!(refused(&|| program(&chain((mean(), accumulate(sgd(0.1), 0))))), @"`accumulate.every_k` must be a whole number of at least 1, but it is 0");
    insta::assert_snapshot!(refused(&|| program(&chain((mean(), lookahead(sgd(0.1), 1.5, 0.5))))), @"`lookahead.sync_period` must be a whole number of at least 1, but it is 1.5");
    insta::assert_snapshot!(refused(&|| program(&chain((mean(), lookahead(sgd(0.1), 2, 1.5))))), @"`lookahead.slow_step_size` must be a number from 0 to 1, but it is 1.5");
    insta::assert_snapshot!(refused(&|| program(&chain((mean(), schedule_free(sgd(0.1), 0.1).b1(0.0))))), @"`schedule_free.b1` must be a number above 0 and at most 1, but it is 0");
    insta::assert_snapshot!(refused(&|| program(&chain((mean(), mechanize(sgd(0.1)).s_init(0.0))))), @"`mechanize.s_init` must be a finite number above 0, but it is 0");
    insta::assert_snapshot!(refused(&|| program(&chain((mean(), mechanize(sgd(0.1)).num_betas(16))))), @"`mechanize.num_betas` must be a whole number from 1 to 15, but it is 16");
    insta::assert_snapshot!(refused(&|| program(&chain((mean(), apply_if_finite(sgd(0.1), -1.0))))), @"`apply_if_finite.max_consecutive_errors` must be a finite number that is not negative, but it is -1");
    insta::assert_snapshot!(refused(&|| program(&chain((geometric_median(3).eps(0.0), scale(1.0))))), @"`geometric_median.eps` must be a finite number above 0, but it is 0");
}

#[test]
fn arguments_of_reduce_interference_that_make_no_sense_are_refused() {
    let lambda = program(&reduce_interference(sgd(0.1), -1.0));
    insta::assert_snapshot!(lambda.unwrap_err(), @"`reduce_interference.lambda` must be a number that is not negative (infinity is allowed), but it is -1");
    insta::assert_snapshot!(build(r#"[{"link": "reduce_interference", "links": "sign", "lambda": 1}]"#), @"the argument `links` of `reduce_interference` must be links that end with a reduction over examples such as `mean`, but it is sign()");
    insta::assert_snapshot!(build(r#"[{"link": "reduce_interference", "links": "mean", "lambda": 1, "preconditioner": "square"}]"#), @"the argument `preconditioner` of `reduce_interference` must be links that end with a reduction over examples such as `mean`, but it is square()");
    insta::assert_snapshot!(build(r#"["mean", {"link": "reduce_interference", "links": "mean", "lambda": 1}]"#), @"link 1 `reduce_interference` takes per-example [B, ..p] gradients, but gets aggregated [..p] ones: it needs the examples apart, but they are already reduced, so move it before the reduction over examples or remove one of the two");
}
