//! What holds for every monitor: the updates are those of the chain without it.

use pergrad_transforms::extent::ExtentKind;
use pergrad_transforms::prelude::*;
use pergrad_transforms::program::Op;
use pergrad_transforms::runner::StepInput;
use pergrad_transforms::spec::{Catalogue, ChainSpec, Family, LinkSpec};
use pergrad_transforms::{Error, Program, optimizer_program};

use super::noisy;
use crate::model::{batch, steps};
use crate::random::Random;

fn monitors() -> Vec<LinkSpec> {
    let catalogue = Catalogue::standard();
    let entries = catalogue.entries().iter();
    let monitors = entries.filter(|entry| entry.family == Family::Monitor);
    let monitors = monitors.map(|entry| LinkSpec::new(entry.name));
    monitors
        .map(|link| match link.link.as_str() {
            "cabs" => link.with("learning_rate", 0.1),
            "per_example_norms" => link.with("outliers_above", 2.0).with("leaf_norms", true),
            "gsnr" => link.with("elements", true),
            _ => link,
        })
        .collect()
}

fn build(links: &serde_json::Value) -> Program {
    let spec: ChainSpec = serde_json::from_value(links.clone()).unwrap();
    let chain = Catalogue::standard().build(&spec).unwrap();
    chain.optimizer_program().unwrap()
}

fn inputs(program: &Program) -> Vec<StepInput> {
    let mut random = Random::new(71);
    let input = |_| {
        let (mut input, _) = noisy(&mut random, 4, 1.0);
        for extra in program.extras() {
            input.extras.insert(extra.name.clone(), vec![0.5]);
        }
        input
    };
    (0..3).map(input).collect()
}

#[test]
fn a_chain_with_a_monitor_gives_the_bits_of_the_chain_without() {
    let rest = [
        serde_json::json!({"link": "clip_per_example", "max_norm": 2}),
        serde_json::json!({"link": "micro_adam", "learning_rate": 0.1}),
    ];
    let plain = build(&serde_json::json!(rest));
    for monitor in monitors() {
        let chain = if monitor.link == "harm" {
            serde_json::json!([{"link": "harm", "links": rest}])
        } else {
            serde_json::json!([monitor, rest[0], rest[1]])
        };
        let watched = build(&chain);
        let (got, expected) = (
            steps::<f32>(&watched, &inputs(&watched)),
            steps::<f32>(&plain, &inputs(&plain)),
        );
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!(got.updates, expected.updates, "{monitor}");
            assert!(got.metrics.len() > expected.metrics.len(), "{monitor}");
        }
    }
}

/// How many values with elements are reduced over the examples.
fn statistics(program: &Program) -> usize {
    let nodes = program.nodes().iter();
    let reductions = nodes.filter(|node| matches!(node.op, Op::OverExamples(..)));
    reductions
        .filter(|node| node.ty.extent == ExtentKind::Leaf)
        .count()
}

#[test]
fn monitors_by_norms_read_no_statistic_of_the_elements_but_the_mean() {
    let watched = chain((
        monitor::gns(),
        monitor::norm_test(),
        monitor::cabs(0.1),
        monitor::per_example_norms(),
        sgd(0.1),
    ));
    assert_eq!(statistics(&optimizer_program(&watched).unwrap()), 1);
}

#[test]
fn monitors_of_elements_share_the_variance_of_the_optimizer() {
    let optimizer = || micro_adam_var(0.1);
    let watched = chain((
        monitor::gns().by_variance(),
        monitor::gsnr().unbiased(),
        monitor::early_stopping(),
        optimizer(),
    ));
    let plain = optimizer_program(&optimizer()).unwrap();
    let watched = optimizer_program(&watched).unwrap();
    assert_eq!(statistics(&watched), statistics(&plain));
}

#[test]
fn the_program_of_a_noise_scale_is_small() {
    let program = program(&chain((monitor::gns(), mean()))).unwrap();
    insta::assert_snapshot!(program, @r"
    program per-example [B, ..p] -> aggregated [..p]
    $gns.decay = 0.99
    @gns.weight : [] = 0
    @gns.g2_moment : [] = 0
    @gns.s_moment : [] = 0
    %0 = mean_B g : [P]
    %1 = square %0 : [P]
    %2 = sum_P %1 : [] per leaf
    %3 = sum_leaves %2 : []
    %4 = square g : [B,P]
    %5 = sum_P %4 : [B] per leaf
    %6 = sum_leaves %5 : [B]
    %7 = sqrt %6 : [B]
    %8 = mean_B %7 : []
    %9 = square %8 : []
    %10 = sub %9 %3 : []
    %11 = sub B 1 : []
    %12 = div B %11 : []
    %13 = mul %10 %12 : []
    %14 = variance_B(ddof=1) %7 : []
    %15 = add %14 %13 : []
    %16 = div %15 B : []
    %17 = sub %3 %16 : []
    %18 = sub 1 $gns.decay : []
    %19 = is_finite %15 : [] bool
    %20 = is_finite %17 : [] bool
    %21 = and %19 %20 : [] bool
    %22 = mul @gns.weight $gns.decay : []
    %23 = add %22 %18 : []
    %24 = select (%21) %23 @gns.weight : []
    %25 = mul @gns.g2_moment $gns.decay : []
    %26 = mul %17 %18 : []
    %27 = add %25 %26 : []
    %28 = select (%21) %27 @gns.g2_moment : []
    %29 = div %28 %24 : []
    %30 = mul @gns.s_moment $gns.decay : []
    %31 = mul %15 %18 : []
    %32 = add %30 %31 : []
    %33 = select (%21) %32 @gns.s_moment : []
    %34 = div %33 %24 : []
    %35 = max %34 0 : []
    %36 = max %29 0 : []
    %37 = div_or_zero %35 %36 : []
    @gns.weight <- %24
    @gns.g2_moment <- %28
    @gns.s_moment <- %33
    updates = %0
    gns.g2 = %29
    gns.s = %34
    gns.scale = %37
    ");
}

#[test]
fn monitors_that_look_at_each_example_by_itself_take_a_batch_in_parts() {
    let watched = chain((
        monitor::gns().per_leaf(),
        monitor::gsnr(),
        monitor::norm_test(),
        monitor::cabs(0.1),
        monitor::early_stopping(),
        monitor::per_example_norms(),
        mean(),
    ));
    assert!(program(&watched).unwrap().parts().is_ok());
}

#[test]
fn monitors_that_compare_with_the_batch_need_the_whole_of_it() {
    let refused = |program: Result<Program, _>| program.unwrap().parts().unwrap_err();
    insta::assert_snapshot!(refused(program(&chain((monitor::inner_product_test(), mean())))), @"`inner_product_test` computes something of each example from the whole batch, so what it gives of parts of a batch cannot be merged: step with the whole batch, or take a chain whose reductions are sums, means, variances, maxima or minima of what each example has by itself");
    insta::assert_snapshot!(refused(program(&chain((monitor::orthogonality_test(), mean())))), @"`orthogonality_test` computes something of each example from the whole batch, so what it gives of parts of a batch cannot be merged: step with the whole batch, or take a chain whose reductions are sums, means, variances, maxima or minima of what each example has by itself");
    insta::assert_snapshot!(refused(program(&chain((monitor::cosine(), mean())))), @"`cosine` compares the examples with each other, so what it gives of parts of a batch cannot be merged: step with the whole batch, or take a chain whose reductions are sums, means, variances, maxima or minima of what each example has by itself");
    insta::assert_snapshot!(refused(program(&monitor::harm(sgd(0.1)))), @"`harm` computes something of each example from the whole batch, so what it gives of parts of a batch cannot be merged: step with the whole batch, or take a chain whose reductions are sums, means, variances, maxima or minima of what each example has by itself");
    let outliers = monitor::per_example_norms().outliers_above(3.0);
    insta::assert_snapshot!(refused(program(&chain((outliers, mean())))), @"`per_example_norms` looks at all examples at once, so what it gives of parts of a batch cannot be merged: step with the whole batch, or take a chain whose reductions are sums, means, variances, maxima or minima of what each example has by itself");
}

/// At a skipped step the metrics are what they would be with that batch; the state is that of the steps that were taken.
#[test]
fn a_monitor_inside_a_link_that_skips_a_step_shows_its_batch_and_does_not_keep_it() {
    let usual = batch([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]);
    let odd = batch([[30.0, 5.0], [20.0, 9.0], [10.0, 4.0]]);
    let inside = conditionally_transform(monitor::gns(), step_multiple_of(2));
    let inside = program(&chain((inside, mean()))).unwrap();
    let alone = program(&chain((monitor::gns(), mean()))).unwrap();
    let metrics = |program, inputs: &[StepInput]| {
        let outputs = steps::<f64>(program, inputs).into_iter();
        outputs.map(|o| o.metrics).collect::<Vec<_>>()
    };
    let got = metrics(&inside, &[usual.clone(), odd.clone(), usual.clone()]);
    let of_skipped = metrics(&alone, &[usual.clone(), odd]);
    let of_taken = metrics(&alone, &[usual.clone(), usual]);
    assert_eq!(got[..2], of_skipped);
    assert_eq!([&got[0], &got[2]], [&of_taken[0], &of_taken[1]]);
    assert!(got[1]["gns.g2"] > got[0]["gns.g2"] && got[2]["gns.g2"] < got[1]["gns.g2"]);
}

#[test]
fn a_metric_over_all_leaves_is_enough_to_be_no_chain_of_leaves() {
    let check = |program: Result<Program, _>| program.unwrap().check_leafwise();
    check(program(&micro_adam(0.1))).unwrap();
    let watched = check(program(&chain((monitor::gns(), micro_adam(0.1)))));
    assert!(matches!(watched, Err(Error::AcrossLeaves { link, .. }) if link == "gns"));
}
