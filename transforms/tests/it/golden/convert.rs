//! A function of the library as links of ours.

use pergrad_transforms::spec::{ChainSpec, LinkSpec};
use serde_json::{Map, Value, json};

use super::file::Call;

/// The links of a transformation, chains in chains laid out in a row.
pub(super) fn chain(call: &Call) -> ChainSpec {
    let links = links(call).into_iter();
    let links = links.map(|link| serde_json::from_value::<LinkSpec>(link).expect("a link"));
    links.collect()
}

/// A link that does not exist keeps its name.
fn links(call: &Call) -> Vec<Value> {
    let args = &call.args;
    let inside = |name: &str| links(&Call::read(&args[name]));
    let link = |name: &str, mut fields: Value| {
        fields["link"] = json!(name);
        vec![fields]
    };
    let kind = call.kind.as_str();
    match kind {
        "chain" => {
            let parts = args["transforms"].as_array().expect("a list").iter();
            parts.flat_map(|part| links(&Call::read(part))).collect()
        }
        "inject_hyperparams" => inside("inner"),
        "masked" => link(
            kind,
            json!({"links": inside("inner"), "leaves": args["mask"]}),
        ),
        "freeze" => link(kind, json!({"leaves": args["mask"]})),
        "conditionally_transform" | "conditionally_mask" => {
            let condition = &args["condition"];
            let when = condition["kind"].as_str().expect("a name");
            let condition = json!({ when: condition["n"] });
            link(
                kind,
                json!({"links": inside("inner"), "condition": condition}),
            )
        }
        "partition" => link(kind, json!({"parts": parts(args)})),
        "multi_steps" => {
            let mut with = json!({
                "links": inside("inner"),
                "every_k": every_k(&args["every_k_schedule"]),
                "use_grad_mean": args["use_grad_mean"],
            });
            match &args["should_skip_update_fn"] {
                Value::Null => {}
                Value::String(_) => with["skip_not_finite"] = json!(true),
                large => with["skip_larger_than"] = large["max_squared_norm"].clone(),
            }
            link("accumulate", with)
        }
        _ => {
            let mut fields: Map<String, Value> = Map::new();
            for (name, value) in args {
                argument(&mut fields, name, value);
            }
            if let Some(steps) = fields.remove("warmup_steps") {
                fields["learning_rate"] = json!({
                    "schedule": "linear_schedule",
                    "init_value": 0.0, "end_value": fields["learning_rate"], "transition_steps": steps,
                });
            }
            if kind.ends_with("rprop") {
                fields.insert("late".to_owned(), json!(true));
            }
            link(kind, Value::Object(fields))
        }
    }
}

/// Writes an argument as we write it: pairs have names of their own, and "none" is left out.
fn argument(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    match (name, value) {
        // None is no bound; ours is a number.
        ("clipping_threshold", Value::Null) => {
            fields.insert(name.to_owned(), json!("inf"));
        }
        (_, Value::Null) => {}
        // The only one there is.
        ("preconditioning", Value::String(kind)) if kind == "frobenius" => {}
        ("betas", Value::Array(both)) => {
            fields.insert("b1".to_owned(), both[0].clone());
            fields.insert("b2".to_owned(), both[1].clone());
        }
        ("init_step", Value::Array(both)) => {
            fields.insert("init_step".to_owned(), both[0].clone());
            fields.insert("init_value".to_owned(), both[1].clone());
        }
        ("ns_coeffs", Value::Array(all)) => {
            for (name, value) in ["ns_a", "ns_b", "ns_c"].iter().zip(all) {
                fields.insert((*name).to_owned(), value.clone());
            }
        }
        ("inner", inner) => {
            fields.insert("links".to_owned(), json!(links(&Call::read(inner))));
        }
        ("adversary", adversary) => {
            fields.insert(name.to_owned(), json!(links(&Call::read(adversary))));
        }
        (name, Value::Object(table)) if table.contains_key("schedule") => {
            fields.insert(name.to_owned(), schedule(&Call::read(&table["schedule"])));
        }
        (name, value) => {
            fields.insert(name.to_owned(), value.clone());
        }
    }
}

/// The parts of a partition, which the library gives by labels.
fn parts(args: &Map<String, Value>) -> Vec<Value> {
    let transforms = args["transforms"].as_object().expect("a table").iter();
    let parts = transforms.map(|(label, transform)| {
        let labels = args["labels"].as_object().expect("a table").iter();
        let leaves: Map<_, _> = labels
            .map(|(leaf, of)| (leaf.clone(), json!(of == label)))
            .collect();
        json!({"leaves": {"paths": leaves}, "links": links(&Call::read(transform))})
    });
    parts.collect()
}

/// The number of micro-batches, which grows by one at each step in the case where it grows.
fn every_k(k: &Value) -> Value {
    match k.as_array() {
        None => k.clone(),
        Some(steps) => {
            let grows = steps.iter().enumerate();
            assert!(grows.clone().all(|(at, step)| *step == json!([at, at + 1])));
            json!({
                "schedule": "linear_schedule",
                "init_value": 1, "end_value": steps.len(), "transition_steps": steps.len() - 1,
            })
        }
    }
}

/// The serde data of a schedule.
pub(super) fn schedule(call: &Call) -> Value {
    let mut fields = call.args.clone();
    if let Some(Value::Array(inner)) = fields.get_mut("schedules") {
        for part in inner {
            *part = schedule(&Call::read(part));
        }
    }
    fields.insert("schedule".to_owned(), json!(call.kind));
    Value::Object(fields)
}
