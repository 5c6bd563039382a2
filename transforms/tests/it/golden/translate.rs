//! The transformations of the golden files as specifications of this crate.

use pergrad_transforms::prelude::*;
use pergrad_transforms::spec::{Catalogue, ChainSpec, Entry, Family, Link};
use pergrad_transforms::{Aggregated, Transform};
use serde_json::{Map, Value as Json, json};

/// The catalogue, and what else the cases need to say something about a wrapper.
pub(super) fn catalogue() -> Catalogue {
    let entry = |name, build| Entry {
        name,
        family: Family::Aggregated,
        summary: "",
        reference: "",
        arguments: &[],
        build,
    };
    let own = [
        entry("normalize", |_| Ok(Link::aggregated(stateless(normalize)))),
        entry("clip_by_block_rms", |args| {
            let threshold = args.number("threshold")?.unwrap_or(f64::NAN);
            Ok(Link::aggregated(ClipByBlockRms(threshold)))
        }),
    ];
    let known = Catalogue::standard();
    let missing = own
        .into_iter()
        .filter(|entry| known.get(entry.name).is_none());
    missing.fold(known.clone(), Catalogue::with)
}

fn normalize(x: Value<Aggregated>, _: &mut Tracer) -> Value<Aggregated> {
    &x / x.norm()
}

struct ClipByBlockRms(f64);

impl Transform<Aggregated> for ClipByBlockRms {
    type Out = Aggregated;

    fn trace(&self, x: Value<Aggregated>, cx: &mut Tracer) -> Value<Aggregated> {
        let rms = (x.leaf_sq_norm() / cx.leaf_size()).sqrt();
        x / (rms / self.0).max(1.0)
    }
}

/// A transformation as a chain.
pub(super) fn chain(transform: &Json) -> ChainSpec {
    serde_json::from_value(Json::Array(links(transform))).unwrap()
}

/// A transformation as links; a link that does not exist keeps its name.
fn links(transform: &Json) -> Vec<Json> {
    let kind = transform["kind"].as_str().unwrap();
    let args = transform["args"].as_object().unwrap();
    let inner = |name: &str| Json::Array(links(&args[name]));
    let link = |name: &str, with: Json| {
        let mut table = with.as_object().unwrap().clone();
        table.insert("link".to_owned(), json!(name));
        vec![Json::Object(table)]
    };
    match kind {
        "chain" => args["transforms"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(links)
            .collect(),
        "inject_hyperparams" => links(&args["inner"]),
        "scale_by_sign" => link("sign", json!({})),
        "masked" => link(
            kind,
            json!({"links": inner("inner"), "leaves": args["mask"]}),
        ),
        "freeze" => link(kind, json!({"leaves": args["mask"]})),
        "flatten" => link(kind, json!({"links": inner("inner")})),
        "conditionally_transform" | "conditionally_mask" => {
            let condition = &args["condition"];
            let when = condition["kind"].as_str().unwrap();
            let condition = json!({ when: condition["n"] });
            link(
                kind,
                json!({"links": inner("inner"), "condition": condition}),
            )
        }
        "partition" => {
            let transforms = args["transforms"].as_object().unwrap().iter();
            let parts = transforms.map(|(label, transform)| {
                let labels = args["labels"].as_object().unwrap().iter();
                let leaves: Map<_, _> = labels
                    .map(|(l, x)| (l.clone(), json!(x == label)))
                    .collect();
                json!({"leaves": {"paths": leaves}, "links": links(transform)})
            });
            link(kind, json!({"parts": parts.collect::<Vec<_>>()}))
        }
        "multi_steps" => {
            let mut with = json!({
                "links": inner("inner"),
                "every_k": every_k(&args["every_k_schedule"]),
                "use_grad_mean": args["use_grad_mean"],
            });
            match &args["should_skip_update_fn"] {
                Json::Null => {}
                Json::String(_) => with["skip_not_finite"] = json!(true),
                large => with["skip_larger_than"] = large["max_squared_norm"].clone(),
            }
            link("accumulate", with)
        }
        _ => {
            let mut with: Map<_, _> = args
                .iter()
                .map(|(name, x)| (name.clone(), argument(x)))
                .collect();
            if let Some(inner) = with.remove("inner") {
                with.insert("links".to_owned(), Json::Array(links(&inner)));
            }
            if let Some(Json::Object(_)) = with.get("adversary") {
                with["adversary"] = inner("adversary");
            }
            if let Some(steps) = with.remove("warmup_steps").filter(|steps| !steps.is_null()) {
                let peak = with["learning_rate"].clone();
                with["learning_rate"] = json!({
                    "schedule": "linear_schedule",
                    "init_value": 0.0, "end_value": peak, "transition_steps": steps,
                });
            }
            link(kind, Json::Object(with))
        }
    }
}

/// A schedule under the name of its function.
fn argument(x: &Json) -> Json {
    match x.get("schedule") {
        None => x.clone(),
        Some(schedule) => {
            let mut table = schedule["args"].as_object().unwrap().clone();
            table.insert("schedule".to_owned(), schedule["kind"].clone());
            Json::Object(table)
        }
    }
}

/// The number of micro-batches, which grows by one at each step in the case where it grows.
fn every_k(x: &Json) -> Json {
    match x.as_array() {
        None => x.clone(),
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
