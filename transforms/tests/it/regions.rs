//! What selections and guards make of a program: its text, its data, and what the host knows of its state.

mod host;

use pergrad_transforms::Program;
use pergrad_transforms::prelude::*;
use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::Runner;
use serde_json::{Value as Data, json};

use crate::model::{batch, column, step, tree, w};

fn read(data: Data) -> Result<Program, String> {
    serde_json::from_value(data).map_err(|error| error.to_string())
}

#[test]
fn a_masked_norm_adds_zeros_for_the_other_leaves() {
    let clip = masked(clip_by_global_norm(1.0), Leaves::matching("w"));
    insta::assert_snapshot!(program(&chain((mean(), clip))).unwrap(), @r#"
    program per-example [B, ..p] -> aggregated [..p]
    $clip_by_global_norm.max_norm = 1
    %0 = mean_B g : [P]
    %1 = square %0 : [P]
    %2 = sum_P %1 : [] per leaf
    %3 = select (leaf in "w") %2 0 : [] per leaf
    %4 = sum_leaves %3 : []
    %5 = sqrt %4 : []
    %6 = less $clip_by_global_norm.max_norm %5 : [] bool
    %7 = div $clip_by_global_norm.max_norm %5 : []
    %8 = is_nan %5 : [] bool
    %9 = select (%8) %5 1 : []
    %10 = select (%6) %7 %9 : []
    %11 = mul %0 %10 : [P]
    %12 = select (leaf in "w") %11 %0 : [P]
    updates = %12
    "#);
}

#[test]
fn state_inside_a_mask_says_in_which_leaves_it_is() {
    let momentum = masked(trace(0.9), Leaves::RankAtLeast(2));
    insta::assert_snapshot!(program(&chain((mean(), momentum))).unwrap(), @r"
    program per-example [B, ..p] -> aggregated [..p]
    $trace.decay = 0.9
    @trace.sum : [P] = 0 in rank>=2
    %0 = mean_B g : [P]
    %1 = mul @trace.sum $trace.decay : [P]
    %2 = add %0 %1 : [P]
    %3 = select (leaf in rank>=2) %2 %0 : [P]
    @trace.sum <- %2
    updates = %3
    ");
}

#[test]
fn a_guard_keeps_state_by_a_select() {
    let link = skip_large_updates(ema(0.9), 4.0);
    insta::assert_snapshot!(program(&chain((mean(), link))).unwrap(), @r"
    program per-example [B, ..p] -> aggregated [..p]
    $skip_large_updates.max_squared_norm = 4
    $ema.decay = 0.9 at @skip_large_updates.steps
    @skip_large_updates.steps : [] = 0
    @ema.moment : [P] = 0
    %0 = mean_B g : [P]
    %1 = square %0 : [P]
    %2 = sum_P %1 : [] per leaf
    %3 = sum_leaves %2 : []
    %4 = less %3 $skip_large_updates.max_squared_norm : [] bool
    %5 = not %4 : [] bool
    %6 = select (%5) 1 0 : []
    %7 = add @skip_large_updates.steps 1 : []
    %8 = select (%4) %7 @skip_large_updates.steps : []
    %9 = sub 1 $ema.decay : []
    %10 = mul %0 %9 : [P]
    %11 = mul @ema.moment $ema.decay : [P]
    %12 = add %11 %10 : [P]
    %13 = select (%4) %12 @ema.moment : [P]
    %14 = pow $ema.decay %7 : []
    %15 = sub 1 %14 : []
    %16 = div %12 %15 : [P]
    %17 = select (%4) %16 0 : [P]
    @skip_large_updates.steps <- %8
    @ema.moment <- %13
    updates = %17
    skip_large_updates.skipped = %6
    ");
}

#[test]
fn an_accumulation_counts_on_the_host() {
    let link = accumulate(ema(0.9), 2);
    let program = program(&chain((mean(), link))).unwrap();
    insta::assert_snapshot!(program, @r"
    program per-example [B, ..p] -> aggregated [..p]
    $accumulate.every_k = 2 at @accumulate.gradient_step
    $ema.decay = 0.9 at @accumulate.gradient_step
    @accumulate.mini_step : [] = 0
    @accumulate.gradient_step : [] = 0
    @accumulate.gradients : [P] = 0
    @ema.moment : [P] = 0
    %0 = mean_B g : [P]
    %1 = add @accumulate.mini_step 1 : []
    %2 = less_equal $accumulate.every_k %1 : [] bool
    %3 = sub %0 @accumulate.gradients : [P]
    %4 = div %3 %1 : [P]
    %5 = add @accumulate.gradients %4 : [P]
    %6 = sub 1 $ema.decay : []
    %7 = mul %5 %6 : [P]
    %8 = mul @ema.moment $ema.decay : [P]
    %9 = add %8 %7 : [P]
    %10 = select (%2) %9 @ema.moment : [P]
    %11 = add @accumulate.gradient_step 1 : []
    %12 = pow $ema.decay %11 : []
    %13 = sub 1 %12 : []
    %14 = div %9 %13 : [P]
    %15 = select (%2) 1 0 : []
    %16 = add @accumulate.gradient_step %15 : []
    %17 = select (%2) 0 %1 : []
    %18 = select (%2) 0 %5 : [P]
    %19 = select (%2) %14 0 : [P]
    @accumulate.mini_step <- %17
    @accumulate.gradient_step <- %16
    @accumulate.gradients <- %18
    @ema.moment <- %10
    updates = %19
    accumulate.has_updated = %15
    ");
    let of_host = |program: &Program| -> Vec<String> {
        let slots = program.slots().iter().zip(program.host_slots());
        let slots = slots.filter(|(_, of_host)| *of_host);
        slots.map(|(slot, _)| slot.name.clone()).collect()
    };
    let both = ["accumulate.mini_step", "accumulate.gradient_step"];
    assert_eq!(of_host(&program), both);
    // As soon as the gradients have a say, they are counted where the gradients are.
    let skipping = accumulate(ema(0.9), 2).skip_not_finite(true);
    let program = pergrad_transforms::program(&chain((mean(), skipping))).unwrap();
    assert_eq!(of_host(&program), [""; 0]);
}

/// So an executor need not compute what the links inside do in a step that only collects.
/// Follows from the results what a step must compute, where of a `select` that the host decides only one branch counts.
#[test]
fn hyper_parameters_of_one_name_and_two_counts_are_two() {
    let rate = || scale_by_learning_rate(0.1);
    let both = chain((
        mean(),
        rate(),
        skip_not_finite(rate()),
        skip_not_finite(rate()),
    ));
    let program = program(&both).unwrap();
    let names: Vec<_> = program.hypers().iter().map(|h| h.name.as_str()).collect();
    assert_eq!(
        names,
        ["learning_rate", "learning_rate_2", "learning_rate_3"]
    );
}

#[test]
fn programs_with_selections_and_guards_survive_serde() {
    let link = masked(
        accumulate(adam(linear_schedule(0.0, 1.0, 4)), 2),
        Leaves::matching("w"),
    );
    let program = program(&chain((mean(), link))).unwrap();
    let text = serde_json::to_string(&program).unwrap();
    assert_eq!(serde_json::from_str::<Program>(&text).unwrap(), program);
}

#[test]
fn data_of_slots_and_counts_that_do_not_fit_is_refused() {
    let link = masked(skip_not_finite(adam(0.1)), Leaves::matching("w"));
    let good = serde_json::to_value(program(&chain((mean(), link))).unwrap()).unwrap();
    let changed = |change: fn(&mut Data)| {
        let mut data = good.clone();
        change(&mut data);
        read(data).map(drop)
    };
    assert_eq!(changed(|_| {}), Ok(()));
    let no_such = changed(|data| data["hypers"][0]["count"] = json!(99));
    insta::assert_snapshot!(no_such.unwrap_err(), @"hyper-parameter `b1` is evaluated at a state that is not one number");
    let moment = changed(|data| {
        let slots = data["slots"].as_array().unwrap();
        let leaf = slots
            .iter()
            .position(|slot| slot["extent"] == "leaf")
            .unwrap();
        data["hypers"][0]["count"] = json!(leaf);
    });
    insta::assert_snapshot!(moment.unwrap_err(), @"hyper-parameter `b1` is evaluated at a state that is not one number");
    let unknown = changed(|data| {
        let slots = data["slots"].as_array_mut().unwrap();
        let moment = slots
            .iter_mut()
            .find(|slot| slot["extent"] == "leaf")
            .unwrap();
        moment["leaves"] = json!(7);
    });
    insta::assert_snapshot!(unknown.unwrap_err(), @"state `ema.moment` is of leaves that the program does not select");
    let counted = changed(|data| {
        let slots = data["slots"].as_array_mut().unwrap();
        let count = slots
            .iter_mut()
            .find(|slot| slot["extent"] == "global")
            .unwrap();
        count["leaves"] = json!(0);
    });
    insta::assert_snapshot!(counted.unwrap_err(), @"state `skip_not_finite.steps` is of leaves that the program does not select");
}

/// Programs written before slots had leaves and hyper-parameters counts are read as they were.
#[test]
fn a_program_without_guards_is_the_data_it_was() {
    let text = serde_json::to_string(&program(&chain((mean(), ema(0.9)))).unwrap()).unwrap();
    assert!(!text.contains("leaves") && !text.contains("count"));
}

#[test]
fn links_inside_sam_see_the_parameters_of_the_start() {
    let link = sam(add_decayed_weights(0.5).then(scale(-1.0)), scale(-4.0));
    let program = program(&chain((mean(), link))).unwrap();
    let mut input = column(&[0.25]);
    input.params.get_mut("w").unwrap().values[0] = 8.0;
    let mut reference = Reference::<f64>::new(&program, &tree(&input.params)).unwrap();
    let uphill = reference.step(&input).unwrap().updates["w"].values[0];
    assert_eq!(uphill, 1.0);
    input.params.get_mut("w").unwrap().values[0] += uphill;
    let back = reference.step(&input).unwrap().updates["w"].values[0];
    assert_eq!(back, -1.0 - (0.25 + 0.5 * 8.0));
}

/// What is set between steps may be a schedule where there was a number: it too is evaluated at the steps that were taken.
/// Where a part has no leaf, its norms are 0 for every example: the weights are still one for each.
#[test]
fn a_part_of_no_leaf_has_metrics_of_the_right_length() {
    let parts = partition((
        (
            Leaves::RankAtLeast(7),
            chain((geometric_median(2), scale(1.0))),
        ),
        (Leaves::All, chain((upgrad(2), scale(2.0)))),
    ));
    let input = batch([[1.0, 0.0], [3.0, 2.0], [2.0, 1.0]]);
    let output = step::<f64>(&optimizer_program(&parts).unwrap(), &input);
    assert_eq!(output.metrics["geometric_median.weight"], [1.0; 3]);
    assert_eq!(output.metrics["upgrad.weight"], [1.0; 3]);
    assert_eq!(w(&output), [4.0, 2.0]);
}
