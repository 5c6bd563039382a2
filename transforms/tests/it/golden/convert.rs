//! A function of the library as links of ours.

use pergrad_transforms::spec::{ChainSpec, LinkSpec};
use serde_json::{Map, Value, json};

use super::file::Call;

/// The links of a transformation, chains in chains laid out in a row.
pub(super) fn chain(call: &Call) -> ChainSpec {
    links(call).into_iter().collect()
}

fn links(call: &Call) -> Vec<LinkSpec> {
    if call.kind == "chain" {
        let parts = call.args["transforms"].as_array().expect("a list").iter();
        return parts.flat_map(|part| links(&Call::read(part))).collect();
    }
    let mut fields: Map<String, Value> = Map::new();
    for (name, value) in &call.args {
        argument(&mut fields, name, value);
    }
    if call.kind.ends_with("rprop") {
        fields.insert("late".to_owned(), json!(true));
    }
    fields.insert("link".to_owned(), json!(call.kind));
    vec![serde_json::from_value(Value::Object(fields)).expect("a link")]
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
        (name, Value::Object(table)) if table.contains_key("schedule") => {
            fields.insert(name.to_owned(), schedule(&Call::read(&table["schedule"])));
        }
        (name, value) => {
            fields.insert(name.to_owned(), value.clone());
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
