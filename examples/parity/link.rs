//! One function of the library as links of the catalogue.
//!
//! Our links carry the names and arguments of optax, so the catalogue itself says what is supported: a link that is added
//! to it is compared from then on. Only what is written differently stands here.

use pergrad::transforms::spec::{Argument, Catalogue, Entry, Family, LinkSpec};
use serde_json::{Map, Value, json};

use super::convert::Unsupported;
use super::golden::Call;
use super::schedule;

/// The data of links.
type Links = Result<Vec<Value>, Unsupported>;

/// Functions of the library that are left out for a reason.
const LEFT_OUT: &[(&str, &str)] = &[(
    "scale_by_lbfgs",
    "a ring of past differences, and a line search that evaluates the loss within a step",
)];

/// The links for a function of the library.
pub(crate) fn links(call: &Call, catalogue: &Catalogue) -> Result<Vec<LinkSpec>, Unsupported> {
    let refuse = |error: String| Unsupported::new(&call.kind, error);
    let links = data(call, catalogue)?.into_iter();
    let links = links.map(|link| serde_json::from_value(link).map_err(|e| refuse(e.to_string())));
    let links: Vec<LinkSpec> = links.collect::<Result<_, _>>()?;
    let chain = links.iter().cloned().collect();
    catalogue.build(&chain).map_err(|e| refuse(e.to_string()))?;
    Ok(links)
}

/// The same as data, chains in chains laid out in a row.
fn data(call: &Call, catalogue: &Catalogue) -> Links {
    let inside = |name: &str| data(&call.call(name)?, catalogue);
    let link = |name: &str, mut fields: Value| {
        fields["link"] = json!(name);
        Ok(vec![fields])
    };
    let kind = call.kind.as_str();
    match kind {
        "chain" => {
            call.only(&["transforms"])?;
            let parts = call.calls("transforms")?;
            let parts = parts.iter().map(|part| data(part, catalogue));
            Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
        }
        "elementwise" => {
            call.only(&["fn"])?;
            elementwise(&call.text("fn")?, catalogue)
        }
        "inject_hyperparams" => {
            call.only(&["inner"])?;
            inside("inner")
        }
        "masked" => {
            call.only(&["inner", "mask"])?;
            let leaves = call.value("mask")?;
            link(kind, json!({"links": inside("inner")?, "leaves": leaves}))
        }
        "freeze" => {
            call.only(&["mask"])?;
            link(kind, json!({"leaves": call.value("mask")?}))
        }
        "conditionally_transform" | "conditionally_mask" => {
            call.only(&["inner", "condition"])?;
            let condition = call.value("condition")?;
            let when = condition["kind"].as_str().unwrap_or_default();
            let condition = json!({ when: condition["n"] });
            let links = inside("inner")?;
            link(kind, json!({"links": links, "condition": condition}))
        }
        "partition" => {
            call.only(&["transforms", "labels"])?;
            link(kind, json!({"parts": parts(call, catalogue)?}))
        }
        "multi_steps" => link("accumulate", accumulate(call, inside("inner")?)?),
        _ => named(call, catalogue),
    }
}

fn elementwise(function: &str, catalogue: &Catalogue) -> Links {
    let is_elementwise = |name| {
        let entry = catalogue.get(name);
        entry.is_some_and(|entry| entry.family == Family::Elementwise)
    };
    match function {
        "negate" => Ok(vec![json!({"link": "scale", "step_size": -1.0})]),
        name if is_elementwise(name) => Ok(vec![json!({"link": name})]),
        name => Err(Unsupported::new(
            format!("elementwise {name}"),
            format!("the catalogue has no link for the function {name}"),
        )),
    }
}

/// The parts of a partition, which the library gives by labels.
fn parts(call: &Call, catalogue: &Catalogue) -> Links {
    let (transforms, labels) = (call.value("transforms")?, call.value("labels")?);
    let table = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let parts = table(&transforms).into_iter().map(|(label, transform)| {
        let leaves = table(&labels).into_iter();
        let leaves: Map<_, _> = leaves
            .map(|(leaf, of)| (leaf, json!(of == label)))
            .collect();
        let transform: Call =
            serde_json::from_value(transform).map_err(|_| call.refuse(&label, &transforms))?;
        let links = data(&transform, catalogue)?;
        Ok(json!({"leaves": {"paths": leaves}, "links": links}))
    });
    parts.collect()
}

fn accumulate(call: &Call, links: Vec<Value>) -> Result<Value, Unsupported> {
    call.only(&[
        "inner",
        "every_k_schedule",
        "use_grad_mean",
        "should_skip_update_fn",
    ])?;
    let mut fields = json!({
        "links": links,
        "every_k": every_k(call)?,
        "use_grad_mean": call.flag("use_grad_mean")?,
    });
    match call.args.get("should_skip_update_fn") {
        None | Some(Value::Null) => {}
        Some(Value::String(_)) => fields["skip_not_finite"] = json!(true),
        Some(large) => fields["skip_larger_than"] = large["max_squared_norm"].clone(),
    }
    Ok(fields)
}

/// The number of micro-batches: fixed, or one more at each step.
fn every_k(call: &Call) -> Result<Value, Unsupported> {
    let k = call.value("every_k_schedule")?;
    let Some(steps) = k.as_array() else {
        return Ok(k);
    };
    let mut grows = steps.iter().enumerate();
    if steps.len() < 2 || !grows.all(|(at, step)| *step == json!([at, at + 1])) {
        return Err(call.refuse("every_k_schedule", &k));
    }
    Ok(json!({
        "schedule": "linear_schedule",
        "init_value": 1, "end_value": steps.len(), "transition_steps": steps.len() - 1,
    }))
}

/// The link of the same name.
fn named(call: &Call, catalogue: &Catalogue) -> Links {
    let kind = call.kind.as_str();
    let entry = catalogue.get(kind).ok_or_else(|| {
        let left_out = LEFT_OUT.iter().find(|(name, _)| *name == kind);
        let no_link = format!("the catalogue has no link for {kind}");
        Unsupported::new(kind, left_out.map_or(no_link, |(_, why)| (*why).to_owned()))
    })?;
    let mut fields = Map::new();
    for (name, value) in &call.args {
        argument(&mut fields, call, name, value, catalogue)?;
        if value.is_null() && takes(entry, name).is_some_and(|a| !none_is_default(a)) {
            fields.get(name).ok_or_else(|| call.refuse(name, value))?;
        }
    }
    if let Some(steps) = fields.remove("warmup_steps") {
        let rate = call.value("learning_rate")?;
        let warmup = json!({
            "schedule": "linear_schedule",
            "init_value": 0.0, "end_value": rate, "transition_steps": steps,
        });
        fields.insert("learning_rate".to_owned(), warmup);
    }
    if kind.ends_with("rprop") {
        fields.insert("late".to_owned(), json!(true));
    }
    let other = fields.iter().find(|(name, _)| takes(entry, name).is_none());
    if let Some((name, value)) = other {
        return Err(call.refuse(name, value));
    }
    fields.insert("link".to_owned(), json!(kind));
    Ok(vec![Value::Object(fields)])
}

fn takes<'a>(entry: &'a Entry, name: &str) -> Option<&'a Argument> {
    entry.arguments.iter().find(|a| a.name == name)
}

/// Whether leaving the argument out means the same as giving null.
fn none_is_default(argument: &Argument) -> bool {
    matches!(argument.default, Some("none" | "all"))
}

/// Writes an argument as we write it: pairs have names of their own, and null is left out.
fn argument(
    fields: &mut Map<String, Value>,
    call: &Call,
    name: &str,
    value: &Value,
    catalogue: &Catalogue,
) -> Result<(), Unsupported> {
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    match (name, value) {
        // Null is no bound; ours is a number.
        ("clipping_threshold", Value::Null) => {
            put(name, json!("inf"));
        }
        // Null is no decay; ours is a number too.
        ("weight_decay", Value::Null) => {
            put(name, json!(0.0));
        }
        (_, Value::Null) => {}
        // The only one there is.
        ("preconditioning", Value::String(kind)) if kind == "frobenius" => {}
        ("betas", Value::Array(both)) => spread(&["b1", "b2"], both, &mut put),
        ("init_step", Value::Array(both)) => spread(&["init_step", "init_value"], both, &mut put),
        ("ns_coeffs", Value::Array(all)) => spread(&["ns_a", "ns_b", "ns_c"], all, &mut put),
        ("inner", _) => {
            put("links", json!(data(&call.call(name)?, catalogue)?));
        }
        ("adversary", _) => {
            put(name, json!(data(&call.call(name)?, catalogue)?));
        }
        (_, Value::Object(table)) if table.contains_key("schedule") => {
            let of = serde_json::from_value(table["schedule"].clone());
            let of: Call = of.map_err(|_| call.refuse(name, value))?;
            put(name, schedule::data(&of)?);
        }
        _ => {
            put(name, value.clone());
        }
    }
    Ok(())
}

fn spread<T>(names: &[&str], values: &[Value], mut put: impl FnMut(&str, Value) -> T) {
    for (name, value) in names.iter().zip(values) {
        put(name, value.clone());
    }
}
