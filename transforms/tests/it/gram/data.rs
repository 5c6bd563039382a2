//! Programs with pairs of examples as text and as data, and data that is refused.

use pergrad_transforms::prelude::*;
use pergrad_transforms::{Global, PerExample, Program};
use serde_json::{Value as Data, json};

/// Weighs each example by how it agrees with the others, and remembers the average weight.
struct Agreement;

impl Transform<PerExample> for Agreement {
    type Out = PerExample;

    fn trace(&self, x: Value<PerExample>, cx: &mut Tracer) -> Value<PerExample> {
        let norm = x.norm();
        let cosine = x.gram().div_or_zero(&norm * norm.across());
        let weight = cosine.max(0.0).sum_pairs();
        cx.state::<Global>("weight", 0.0, |past| past * 0.5 + weight.mean() * 0.5);
        cx.emit("columns", &cosine.mean());
        cx.emit("leaf", &x.leaf_gram().max_pairs());
        x * weight
    }
}

fn agreement() -> Program {
    program(&chain((Agreement, mean()))).unwrap()
}

#[test]
fn a_program_with_pairs_has_a_text() {
    insta::assert_snapshot!(agreement(), @r"
    program per-example [B, ..p] -> aggregated [..p]
    @agreement.weight : [] = 0
    %0 = square g : [B,P]
    %1 = sum_P %0 : [B] per leaf
    %2 = sum_leaves %1 : [B]
    %3 = sqrt %2 : [B]
    %4 = gram g : [B,B] per leaf
    %5 = sum_leaves %4 : [B,B]
    %6 = transpose %3 : [1,B]
    %7 = mul %3 %6 : [B,B]
    %8 = div_or_zero %5 %7 : [B,B]
    %9 = max %8 0 : [B,B]
    %10 = sum_pairs %9 : [B]
    %11 = mul @agreement.weight 0.5 : []
    %12 = mean_B %10 : []
    %13 = mul %12 0.5 : []
    %14 = add %11 %13 : []
    %15 = mean_B %8 : [1,B]
    %16 = max_pairs %4 : [B] per leaf
    %17 = mul g %10 : [B,P]
    %18 = mean_B %17 : [P]
    @agreement.weight <- %14
    updates = %18
    agreement.columns = %15
    agreement.leaf = %16
    ");
}

#[test]
fn a_program_with_pairs_survives_serde() {
    let text = serde_json::to_string(&agreement()).unwrap();
    assert_eq!(serde_json::from_str::<Program>(&text).unwrap(), agreement());
}

/// A program of seven nodes whose last one is `op`, of the given kind.
fn data(op: Data, axis: &str, extent: &str) -> Data {
    let node = |op: Data, axis: &str, extent: &str| {
        let ty = json!({"axis": axis, "extent": extent, "predicate": false});
        json!({"op": op, "ty": ty, "link": 0})
    };
    json!({
        "input": "per_example",
        "nodes": [
            node(json!("grads"), "per_example", "leaf"),
            node(json!({"gram": 0}), "per_example", "leaf_pairs"),
            node(json!({"over_leaves": ["sum", 1]}), "per_example", "pairs"),
            node(json!({"over_pairs": ["sum", 2]}), "per_example", "global"),
            node(json!({"over_examples": ["sum", 3]}), "aggregated", "global"),
            node(json!({"over_examples": ["sum", 2]}), "aggregated", "pairs"),
            node(op, axis, extent),
        ],
        "hypers": [], "slots": [], "extras": [], "selectors": [],
        "links": ["chain"],
        "outputs": [{"name": "updates", "node": 0}, {"name": "metric", "node": 6}],
    })
}

fn read(data: Data) -> Result<Program, String> {
    serde_json::from_value(data).map_err(|error| error.to_string())
}

fn refused(op: Data, axis: &str, extent: &str) -> String {
    read(data(op, axis, extent)).unwrap_err()
}

#[test]
fn operations_on_pairs_are_read() {
    for (op, axis, extent) in [
        (json!({"binary": ["mul", 2, 3]}), "per_example", "pairs"),
        (
            json!({"binary": ["mul", 1, 5]}),
            "per_example",
            "leaf_pairs",
        ),
        (json!({"over_pairs": ["max", 5]}), "aggregated", "global"),
        (
            json!({"over_examples": ["mean", 1]}),
            "aggregated",
            "leaf_pairs",
        ),
        (json!({"pair_product": [1, 2]}), "per_example", "leaf_pairs"),
        (json!({"transpose": 2}), "per_example", "pairs"),
        (json!({"transpose": 3}), "aggregated", "pairs"),
        (json!({"transpose": 5}), "per_example", "global"),
    ] {
        let program = read(data(op.clone(), axis, extent));
        assert!(program.is_ok(), "{op}: {program:?}");
    }
}

#[test]
fn elements_with_pairs_of_examples_are_refused() {
    insta::assert_snapshot!(refused(json!({"binary": ["mul", 0, 2]}), "per_example", "leaf"), @"node %6 combines elements and pairs of examples");
    insta::assert_snapshot!(refused(json!({"compare": ["less", 5, 0]}), "per_example", "pairs"), @"node %6 combines elements and pairs of examples");
}

#[test]
fn operations_on_pairs_of_what_has_none_are_refused() {
    insta::assert_snapshot!(refused(json!({"gram": 3}), "per_example", "leaf_pairs"), @"node %6 multiplies the examples of a value that has no examples or no elements");
    insta::assert_snapshot!(refused(json!({"over_pairs": ["sum", 3]}), "per_example", "global"), @"node %6 reduces over pairs of examples of a value that has none");
    insta::assert_snapshot!(refused(json!({"transpose": 4}), "per_example", "pairs"), @"node %6 transposes a value that is neither for each example nor for pairs");
    insta::assert_snapshot!(refused(json!({"transpose": 0}), "per_example", "leaf"), @"node %6 transposes a value that is neither for each example nor for pairs");
    insta::assert_snapshot!(refused(json!({"over_leaves": ["sum", 2]}), "per_example", "pairs"), @"node %6 reduces over leaves a value that is not for each leaf");
    insta::assert_snapshot!(refused(json!({"over_elements": ["sum", 1]}), "per_example", "per_leaf"), @"node %6 reduces over elements of a value that has none");
    insta::assert_snapshot!(refused(json!({"pair_product": [2, 3]}), "per_example", "pairs"), @"node %6 multiplies values that are not both for pairs of examples");
    insta::assert_snapshot!(refused(json!({"pair_product": [5, 2]}), "per_example", "pairs"), @"node %6 multiplies values that are not both for pairs of examples");
    insta::assert_snapshot!(refused(json!({"gram": 0}), "per_example", "pairs"), @"node %6 has another kind than its operation gives");
}

#[test]
fn the_gram_matrix_of_aggregated_gradients_is_refused() {
    let mut data = data(json!("params"), "aggregated", "leaf");
    data["input"] = json!("aggregated");
    data["nodes"][0]["ty"]["axis"] = json!("aggregated");
    insta::assert_snapshot!(read(data).unwrap_err(), @"node %1 multiplies the examples of a value that has no examples or no elements");
}

#[test]
fn state_for_pairs_of_examples_is_refused() {
    let slot = |extent: &str, next: usize| {
        let mut data = data(json!({"state": 0}), "aggregated", extent);
        data["slots"] = json!([{"name": "past", "extent": extent, "init": 0.0, "next": next}]);
        read(data)
    };
    assert!(slot("global", 4).is_ok());
    insta::assert_snapshot!(slot("pairs", 5).unwrap_err(), @"state `past` is for pairs of examples, but those of the next batch are other ones");
    insta::assert_snapshot!(slot("leaf_pairs", 4).unwrap_err(), @"state `past` is for pairs of examples, but those of the next batch are other ones");
    insta::assert_snapshot!(slot("leaf", 5).unwrap_err(), @"state `past` gets a value that does not fit");
    insta::assert_snapshot!(slot("global", 5).unwrap_err(), @"state `past` gets a value that does not fit");
}

#[test]
fn updates_for_pairs_of_examples_are_refused() {
    let mut data = data(json!("params"), "aggregated", "leaf");
    data["outputs"][0]["node"] = json!(5);
    insta::assert_snapshot!(read(data).unwrap_err(), @"the updates are for pairs of examples");
}
