//! Programs that were broken by hand are refused when they are read.

use pergrad_transforms::Program;
use pergrad_transforms::prelude::*;
use serde_json::{Value, json};

/// `sign g`, its mean, and an average of that.
fn data() -> Value {
    let chain = chain((sign(), mean(), ema(0.9).debias(false)));
    serde_json::to_value(program(&chain).unwrap()).unwrap()
}

/// The position of the first node whose operation has this name.
fn node(data: &Value, op: &str) -> usize {
    let nodes = data["nodes"].as_array().unwrap();
    let found = nodes
        .iter()
        .position(|n| n["op"] == op || n["op"].get(op).is_some());
    found.unwrap_or_else(|| panic!("no {op} in {data}"))
}

fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut data = data();
    change(&mut data);
    serde_json::from_value::<Program>(data)
        .unwrap_err()
        .to_string()
}

#[test]
fn data_that_nobody_changed_is_read() {
    let back: Program = serde_json::from_value(data()).unwrap();
    assert_eq!(serde_json::to_value(back).unwrap(), data());
}

#[test]
fn references_that_point_forward_or_nowhere_are_refused() {
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "unary");
        d["nodes"][at]["op"] = json!({"unary": ["sign", at + 1]});
    }), @"node %1 reads a node that does not come before it");
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "unary");
        d["nodes"][at]["op"] = json!({"unary": ["sign", at]});
    }), @"node %1 reads a node that does not come before it");
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "state");
        d["nodes"][at]["op"] = json!({"state": 7});
    }), @"node %7 names something the program does not list");
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "hyper");
        d["nodes"][at]["op"] = json!({"hyper": 1});
    }), @"node %3 names something the program does not list");
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "hyper");
        d["nodes"][at]["op"] = json!({"extra": 0});
    }), @"node %3 names something the program does not list");
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "hyper");
        d["nodes"][at]["op"] = json!({"selected": 0});
    }), @"node %3 names something the program does not list");
    insta::assert_snapshot!(refused(|d| d["nodes"][0]["link"] = json!(99)), @"node %0 names something the program does not list");
    insta::assert_snapshot!(refused(|d| d["outputs"][0]["node"] = json!(99)), @"an output is not a number of the program");
    insta::assert_snapshot!(refused(|d| d["slots"][0]["next"] = json!(99)), @"state `ema.moment` gets a value that does not fit");
    insta::assert_snapshot!(refused(|d| d["outputs"] = json!([])), @"the program has no output");
}

#[test]
fn a_predicate_where_a_number_is_needed_is_refused() {
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "unary");
        d["nodes"][at]["op"] = json!({"test": ["is_nan", 0]});
        d["nodes"][at]["ty"]["predicate"] = json!(true);
    }), @"node %2 mixes numbers and predicates");
    insta::assert_snapshot!(refused(|d| {
        let at = node(d, "unary");
        d["nodes"][at]["op"] = json!({"not": 0});
        d["nodes"][at]["ty"]["predicate"] = json!(true);
    }), @"node %1 mixes numbers and predicates");
    insta::assert_snapshot!(refused(|d| {
        let at = d["nodes"].as_array().unwrap().len() - 1;
        d["nodes"][at]["op"] = json!({"test": ["is_nan", 0]});
        d["nodes"][at]["ty"] = json!({"axis": "per_example", "extent": "leaf", "predicate": true});
    }), @"an output is not a number of the program");
}

#[test]
fn a_reduction_of_what_is_already_reduced_is_refused() {
    insta::assert_snapshot!(refused(|d| {
        let (at, mean) = (node(d, "binary"), node(d, "over_examples"));
        d["nodes"][at]["op"] = json!({"over_examples": ["mean", mean]});
    }), @"node %5 reduces over examples that are already reduced");
    insta::assert_snapshot!(refused(|d| d["input"] = json!("aggregated")), @"node %0 has another kind than its operation gives");
    insta::assert_snapshot!(refused(|d| {
        let (at, hyper) = (node(d, "binary"), node(d, "hyper"));
        d["nodes"][at]["op"] = json!({"over_elements": ["sum", hyper]});
    }), @"node %5 reduces over elements of a value that has none");
    insta::assert_snapshot!(refused(|d| {
        let (at, mean) = (node(d, "binary"), node(d, "over_examples"));
        d["nodes"][at]["op"] = json!({"over_leaves": ["sum", mean]});
    }), @"node %5 reduces over leaves a value that is not for each leaf");
}

#[test]
fn a_wrong_kind_is_refused() {
    insta::assert_snapshot!(refused(|d| {
        let mean = node(d, "over_examples");
        d["nodes"][mean]["ty"]["axis"] = json!("per_example");
    }), @"node %2 has another kind than its operation gives");
    insta::assert_snapshot!(refused(|d| d["nodes"][0]["ty"]["extent"] = json!("global")), @"node %0 has another kind than its operation gives");
    insta::assert_snapshot!(refused(|d| {
        let sign = node(d, "unary");
        d["slots"][0]["next"] = json!(sign);
    }), @"state `ema.moment` gets a value that does not fit");
    insta::assert_snapshot!(refused(|d| d["slots"][0]["extent"] = json!("global")), @"node %7 has another kind than its operation gives");
}

#[test]
fn a_name_that_is_there_twice_is_refused() {
    for part in ["hypers", "slots", "outputs"] {
        let error = refused(|d| {
            let again = d[part][0].clone();
            d[part].as_array_mut().unwrap().push(again);
        });
        assert!(error.starts_with("two "), "{part}: {error}");
    }
    insta::assert_snapshot!(refused(|d| {
        let again = d["slots"][0].clone();
        d["slots"].as_array_mut().unwrap().push(again);
    }), @"two pieces of state have the name `ema.moment`");
}

#[test]
fn an_operation_that_does_not_exist_is_refused() {
    insta::assert_snapshot!(refused(|d| d["nodes"][1]["op"] = json!({"unary": ["cube", 0]})), @"unknown variant `cube`, expected one of `neg`, `abs`, `sign`, `square`, `sqrt`, `exp`, `ln`, `tanh`");
}

#[test]
fn an_input_that_stands_twice_is_refused() {
    let text = refused(|d| {
        let at = node(d, "state");
        let twin = d["nodes"][at].clone();
        d["nodes"].as_array_mut().unwrap().push(twin);
    });
    assert!(
        text.ends_with("is the same input as one before it"),
        "{text}"
    );
}
