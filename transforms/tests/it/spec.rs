//! Chains from data: JSON, TOML, what is refused and why, placements, and links from outside the crate.

use pergrad_transforms::prelude::*;
use pergrad_transforms::spec::{
    Argument, Arguments, Catalogue, ChainSpec, Entry, Family, Link, LinkSpec, placements,
};
use pergrad_transforms::{AxisKind, Error, Program};

fn build(json: &str) -> Result<Program, Error> {
    let spec: ChainSpec = serde_json::from_str(json).unwrap();
    Catalogue::standard().build(&spec)?.optimizer_program()
}

fn refused(json: &str) -> String {
    build(json).unwrap_err().to_string()
}

#[test]
fn json_names_typed_chains() {
    for (json, typed) in [
        (
            r#"["sign", "mean", {"link": "ema", "decay": 0.9, "debias": false}]"#,
            program(&chain((sign(), mean(), ema(0.9).debias(false)))),
        ),
        (
            r#"{"links": [{"link": "clip_per_example", "max_norm": "inf", "over": "leaves"}, "sum"]}"#,
            program(&chain((clip_per_example(f64::INFINITY).per_leaf(), sum()))),
        ),
        (
            r#"[{"link": "adamw", "learning_rate": 1e-3, "mask": {"rank_at_least": 2}, "b1": null}]"#,
            program(&adamw(1e-3).mask(Leaves::RankAtLeast(2))),
        ),
        (
            r#"[{"link": "sgd", "learning_rate": {"schedule": "linear_schedule", "init_value": 0, "end_value": 1, "transition_steps": 10}}]"#,
            program(&sgd(linear_schedule(0.0, 1.0, 10))),
        ),
        (
            r#"[{"link": "sgd", "learning_rate": {"name": "rate", "value": 0.5}}]"#,
            program(&sgd(Hyper::from(0.5).named("rate"))),
        ),
        (
            r#"[{"link": "sgd", "learning_rate": {"name": "rate", "value":
                {"schedule": "cosine_decay_schedule", "init_value": 1, "decay_steps": 5}}}]"#,
            program(&sgd(
                Hyper::from(cosine_decay_schedule(1.0, 5)).named("rate")
            )),
        ),
        (
            r#"["mean", {"link": "ema", "decay": 0}]"#,
            program(&chain((mean(), ema(0.0)))),
        ),
        (
            r#"[{"link": "variance", "ddof": 1}]"#,
            program(&variance(1)),
        ),
    ] {
        assert_eq!(build(json).unwrap(), typed.unwrap(), "{json}");
    }
}

#[test]
fn toml_names_the_same_chains() {
    let text = r#"
        [[links]]
        link = "clip_per_example"
        max_norm = 1

        [[links]]
        link = "adam_with_second_moment"
        learning_rate = { schedule = "warmup_cosine_decay_schedule", init_value = 0.0, peak_value = 1.0, warmup_steps = 5, decay_steps = 20 }
        statistic = ["square", { link = "trimmed_mean", k = 1 }]
    "#;
    let spec: ChainSpec = toml::from_str(text).unwrap();
    let from_toml = Catalogue::standard()
        .build(&spec)
        .unwrap()
        .optimizer_program()
        .unwrap();
    let rate = warmup_cosine_decay_schedule(0.0, 1.0, 5, 20);
    let typed = chain((
        clip_per_example(1.0),
        adam_with_second_moment(rate, square().then(trimmed_mean(1))),
    ));
    assert_eq!(from_toml, optimizer_program(&typed).unwrap());
}

#[test]
fn a_statistic_is_a_link_or_a_list_of_links() {
    let with = |statistic: &str| {
        build(&format!(
            r#"[{{"link": "adam_with_second_moment", "learning_rate": 0.1, "statistic": {statistic}}}]"#
        ))
    };
    let variance_1 = program(&adam_with_second_moment(0.1, variance(0))).unwrap();
    assert_eq!(with(r#""variance""#).unwrap(), variance_1);
    assert_eq!(with(r#"["variance"]"#).unwrap(), variance_1);
    assert_eq!(
        with(r#"[{"link": "variance", "ddof": 0}]"#).unwrap(),
        variance_1
    );
    let error = |statistic: &str| with(statistic).unwrap_err().to_string();
    insta::assert_snapshot!(error(r#""square""#), @"the argument `statistic` of `adam_with_second_moment` must be links that end with a reduction over examples such as `mean`, but it is square()");
    insta::assert_snapshot!(error(r#"["mean", "mean"]"#), @"link 1 `mean` takes per-example [B, ..p] gradients, but gets aggregated [..p] ones: it needs the examples apart, but they are already reduced, so move it before the reduction over examples or remove one of the two");
    insta::assert_snapshot!(error(r#"["maen"]"#), @"there is no link `maen`: did you mean `mean`?");
    insta::assert_snapshot!(error("3"), @"the argument `statistic` of `adam_with_second_moment` must be a list of links, but it is 3");
    insta::assert_snapshot!(error("null"), @"`adam_with_second_moment` needs the argument `statistic`, a list of links");
}

#[test]
fn an_unknown_link_is_refused_with_the_nearest_name() {
    insta::assert_snapshot!(refused(r#"["mead"]"#), @"there is no link `mead`: did you mean `mean`?");
    insta::assert_snapshot!(refused(r#"["clip_per_sample"]"#), @"there is no link `clip_per_sample`: did you mean `clip_per_example`?");
    insta::assert_snapshot!(refused(r#"["shampoo"]"#), @"there is no link `shampoo`: the catalogue lists those that exist");
    insta::assert_snapshot!(refused(r#"[""]"#), @"there is no link ``: the catalogue lists those that exist");
}

#[test]
fn a_wrong_argument_is_refused() {
    insta::assert_snapshot!(refused(r#"["mean", {"link": "ema", "decay": 0.9, "debiased": true}]"#), @"`ema` takes no argument `debiased`: it takes `debias`, `decay`, `init`, `nesterov`");
    insta::assert_snapshot!(refused(r#"[{"link": "mean", "ddof": 1}]"#), @"`mean` takes no argument `ddof`: it takes none");
    insta::assert_snapshot!(refused(r#"["mean", "ema"]"#), @"`ema` needs the argument `decay`, a number or a schedule");
    insta::assert_snapshot!(refused(r#"[{"link": "scale_per_example"}]"#), @"`scale_per_example` needs the argument `weights`, a text");
    insta::assert_snapshot!(refused(r#"[{"link": "trimmed_mean"}]"#), @"`trimmed_mean` needs the argument `k`, a whole number that is not negative");
    insta::assert_snapshot!(refused(r#"["mean", {"link": "ema", "decay": "0.9"}]"#), @r#"the argument `decay` of `ema` must be a number or a schedule, but it is "0.9""#);
    insta::assert_snapshot!(refused(r#"["mean", {"link": "ema", "decay": 0.9, "debias": 1}]"#), @"the argument `debias` of `ema` must be true or false, but it is 1");
    insta::assert_snapshot!(refused(r#"[{"link": "trimmed_mean", "k": 1.5}]"#), @"the argument `k` of `trimmed_mean` must be a whole number that is not negative, but it is 1.5");
    insta::assert_snapshot!(refused(r#"[{"link": "variance", "ddof": -1}]"#), @"the argument `ddof` of `variance` must be a whole number that is not negative, but it is -1");
    insta::assert_snapshot!(refused(r#"[{"link": "clip_per_example", "max_norm": 1, "over": "layers"}]"#), @r#"the argument `over` of `clip_per_example` must be one of the words the link knows, but it is "layers" (it knows all, leaves, leaves_by_size)"#);
    insta::assert_snapshot!(refused(r#"[{"link": "scale_per_example", "weights": 3}]"#), @"the argument `weights` of `scale_per_example` must be a text, but it is 3");
    insta::assert_snapshot!(refused(r#"[{"link": "adamw", "learning_rate": 1, "mask": ["w"]}]"#), @r#"the argument `mask` of `adamw` must be a selection of leaves, such as {"matching": "*.weight"}, but it is a list of 1"#);
    insta::assert_snapshot!(refused(r#"[{"link": "sgd", "learning_rate": {"schedule": "linear"}}]"#), @"the argument `learning_rate` of `sgd` must be a number or a schedule, but it is a table with schedule (unknown variant `linear`, expected one of `constant_schedule`, `linear_schedule`, `polynomial_schedule`, `exponential_decay`, `cosine_decay_schedule`, `warmup_constant_schedule`, `warmup_cosine_decay_schedule`, `warmup_exponential_decay_schedule`, `linear_onecycle_schedule`, `cosine_onecycle_schedule`, `piecewise_constant_schedule`, `piecewise_interpolate_schedule`, `sgdr_schedule`, `join_schedules`)");
}

#[test]
fn a_misspelled_argument_is_named_before_the_one_that_is_missing_for_it() {
    insta::assert_snapshot!(refused(r#"["mean", {"link": "ema", "deacy": 0.9}]"#), @"`ema` takes no argument `deacy`: it takes `decay`, `debias`, `nesterov`, `init`");
}

#[test]
fn a_schedule_with_an_argument_too_many_is_refused() {
    for schedule in [
        r#"{"schedule": "constant_schedule", "value": 1, "steps": 3}"#,
        r#"{"schedule": "cosine_decay_schedule", "init_value": 1, "decay_steps": 3, "steps": 3}"#,
    ] {
        let result = build(&format!(
            r#"[{{"link": "sgd", "learning_rate": {schedule}}}]"#
        ));
        assert!(
            matches!(result, Err(Error::ArgumentKind { .. })),
            "{schedule}: {result:?}"
        );
    }
}

#[test]
fn a_wrong_order_is_refused_both_ways() {
    insta::assert_snapshot!(refused(r#"["sign", {"link": "ema", "decay": 0.9}, "mean"]"#), @"link 1 `ema` takes aggregated [..p] gradients, but gets per-example [B, ..p] ones: it keeps state or a norm in the shape of the parameters, so move it after a reduction over examples such as `mean`");
    insta::assert_snapshot!(refused(r#"["mean", "sign", {"link": "clip_per_example", "max_norm": 1}]"#), @"link 2 `clip_per_example` takes per-example [B, ..p] gradients, but gets aggregated [..p] ones: it needs the examples apart, but they are already reduced, so move it before the reduction over examples or remove one of the two");
    insta::assert_snapshot!(refused(r#"["mean", "sum"]"#), @"link 1 `sum` takes per-example [B, ..p] gradients, but gets aggregated [..p] ones: it needs the examples apart, but they are already reduced, so move it before the reduction over examples or remove one of the two");
    insta::assert_snapshot!(refused(r#"["sign", {"link": "clip_per_example", "max_norm": 1}]"#), @"the chain ends with per-example gradients, but an optimizer needs one update for each parameter: add a reduction over examples such as `mean`");
    insta::assert_snapshot!(refused("[]"), @"the chain ends with per-example gradients, but an optimizer needs one update for each parameter: add a reduction over examples such as `mean`");
}

#[test]
fn a_hyper_parameter_out_of_range_is_refused_as_in_a_typed_chain() {
    let typed = program(&chain((mean(), ema(1.0)))).unwrap_err();
    assert_eq!(
        build(r#"["mean", {"link": "ema", "decay": 1}]"#).unwrap_err(),
        typed
    );
}

#[test]
fn a_run_time_chain_over_aggregated_gradients_has_other_rules() {
    let spec: ChainSpec = serde_json::from_str(r#"[{"link": "ema", "decay": 0.9}]"#).unwrap();
    let chain = Catalogue::standard().build(&spec).unwrap();
    let typed = program_over::<pergrad_transforms::Aggregated, _>(&ema(0.9)).unwrap();
    assert_eq!(chain.program_over(AxisKind::Aggregated).unwrap(), typed);
    let spec = ChainSpec::from_iter([LinkSpec::new("mean")]);
    let mean = Catalogue::standard().build(&spec).unwrap();
    insta::assert_snapshot!(mean.program_over(AxisKind::Aggregated).unwrap_err(), @"link 0 `mean` takes per-example [B, ..p] gradients, but gets aggregated [..p] ones: it needs the examples apart, but they are already reduced, so move it before the reduction over examples or remove one of the two");
}

fn placed(link: LinkSpec, rest: &str) -> Vec<String> {
    let rest: ChainSpec = serde_json::from_str(rest).unwrap();
    let found = placements(&link, &rest, &Catalogue::standard()).unwrap();
    found
        .iter()
        .map(|p| format!("{}: {}", p.position, p.chain))
        .collect()
}

#[test]
fn sign_has_three_placements_and_mean_two() {
    let ema = r#"{"link": "ema", "decay": 0.9}"#;
    insta::assert_snapshot!(
        placed(LinkSpec::new("sign"), &format!(r#"["mean", {ema}]"#)).join("\n"), @r"
        0: sign() -> mean() -> ema(decay=0.9)
        1: mean() -> sign() -> ema(decay=0.9)
        2: mean() -> ema(decay=0.9) -> sign()
        ");
    insta::assert_snapshot!(
        placed(LinkSpec::new("mean"), &format!(r#"["sign", {ema}]"#)).join("\n"), @r"
        0: mean() -> sign() -> ema(decay=0.9)
        1: sign() -> mean() -> ema(decay=0.9)
        ");
    assert!(placed(LinkSpec::new("mean"), r#"["mean"]"#).is_empty());
    let unknown = placements(
        &LinkSpec::new("sgin"),
        &ChainSpec::default(),
        &Catalogue::standard(),
    );
    assert!(matches!(unknown, Err(Error::UnknownLink { .. })));
}

const SHRINK: Entry = Entry {
    name: "shrink",
    family: Family::Elementwise,
    summary: "g * share",
    reference: "",
    arguments: &[Argument::optional("share", "0.5")],
    build: |args: &mut Arguments<'_>| {
        let mut share = Hyper::from(0.5);
        args.set_hyper("share", &mut share)?;
        Ok(Link::both(scale(share).named("shrink")))
    },
};

#[test]
fn a_link_from_outside_joins_the_catalogue() {
    let catalogue = Catalogue::standard().with(SHRINK);
    let spec: ChainSpec =
        serde_json::from_str(r#"["shrink", "mean", {"link": "shrink", "share": 0.25}]"#).unwrap();
    let program = catalogue.build(&spec).unwrap().optimizer_program().unwrap();
    let names: Vec<_> = program.hypers().iter().map(|h| h.name.as_str()).collect();
    assert_eq!(names, ["shrink.step_size", "shrink_2.step_size"]);
    assert!(
        catalogue
            .to_markdown(|_| None)
            .contains("| `shrink` | share=0.5 | g * share |")
    );
    assert!(Catalogue::standard().build(&spec).is_err());
}

#[test]
fn a_link_from_outside_may_replace_one_of_the_crate() {
    let catalogue = Catalogue::standard().with(Entry {
        name: "sign",
        ..SHRINK
    });
    let spec = ChainSpec::from_iter(["sign", "mean"].map(LinkSpec::new));
    let program = catalogue.build(&spec).unwrap().optimizer_program().unwrap();
    assert_eq!(program.hypers().len(), 1);
    assert_eq!(
        catalogue.entries().len(),
        Catalogue::standard().entries().len()
    );
}
