//! Reading a golden file: tensors as nested lists, `"NaN"` and `"inf"` as text, `null` for "none".

use std::collections::BTreeMap;

use pergrad::transforms::Dtype;
use pergrad::transforms::program::Number;
use pergrad::transforms::runner::{HostTensor, HostTree};
use serde::Deserialize;
use serde_json::Value;

/// A golden file.
#[derive(Debug, Deserialize)]
pub(crate) struct File {
    /// The library and version that computed it.
    pub(crate) source: String,
    pub(crate) cases: Vec<Case>,
}

impl File {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }
}

/// A case of a file.
#[derive(Debug, Deserialize)]
#[serde(try_from = "RawCase")]
pub(crate) struct Case {
    pub(crate) name: String,
    /// What the library computed in.
    pub(crate) dtype: Dtype,
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
    pub(crate) data: Data,
}

#[derive(Debug)]
pub(crate) enum Data {
    Transform(TransformCase),
    Schedule(ScheduleCase),
    Statistics(StatisticsCase),
    Model(Box<ModelCase>),
    /// A kind of case that this reader does not know.
    Unknown,
}

/// Gradients and updates, step by step.
#[derive(Debug)]
pub(crate) struct TransformCase {
    pub(crate) transform: Call,
    pub(crate) params: HostTree,
    pub(crate) grads: Vec<HostTree>,
    pub(crate) updates: Vec<HostTree>,
    pub(crate) final_params: Option<HostTree>,
    /// The loss at each step, where the case gives it.
    pub(crate) losses: Vec<f64>,
    /// What else the library returned, by step.
    pub(crate) extra: Vec<BTreeMap<String, Value>>,
}

/// The values of a schedule at some steps.
#[derive(Debug)]
pub(crate) struct ScheduleCase {
    pub(crate) schedule: Call,
    pub(crate) steps: Vec<u64>,
    pub(crate) values: Vec<f64>,
}

/// Statistics over the examples of one batch.
#[derive(Debug)]
pub(crate) struct StatisticsCase {
    pub(crate) grads: HostTree,
    pub(crate) stats: BTreeMap<String, Value>,
}

/// A model, a batch, and what comes out: outputs, losses and the gradients of the losses.
#[derive(Debug)]
pub(crate) struct ModelCase {
    pub(crate) model: Call,
    pub(crate) params: HostTree,
    /// `[B, ..]`, as the other tensors.
    pub(crate) inputs: HostTensor,
    pub(crate) targets: HostTensor,
    pub(crate) outputs: HostTensor,
    pub(crate) losses: Vec<f64>,
    pub(crate) grads: HostTree,
    /// Over all leaves.
    pub(crate) squared_norms: Vec<f64>,
}

/// A function of the library and its keyword arguments.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Call {
    pub(crate) kind: String,
    pub(crate) args: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct RawCase {
    name: String,
    dtype: Dtype,
    rtol: f64,
    atol: f64,
    transform: Option<Call>,
    schedule: Option<Call>,
    stats: Option<BTreeMap<String, Value>>,
    model: Option<Call>,
    inputs: Option<Value>,
    targets: Option<Value>,
    outputs: Option<Value>,
    losses: Option<Vec<Number>>,
    squared_norms: Option<Vec<Number>>,
    params: Option<Value>,
    grads: Option<Value>,
    updates: Option<Value>,
    final_params: Option<Value>,
    steps: Option<Vec<u64>>,
    values: Option<Vec<Number>>,
    #[serde(default)]
    extra: Vec<BTreeMap<String, Value>>,
}

impl TryFrom<RawCase> for Case {
    type Error = String;

    fn try_from(raw: RawCase) -> Result<Self, String> {
        let name = raw.name;
        let need = |value: &Option<Value>, field: &str| {
            value
                .clone()
                .ok_or_else(|| format!("case `{name}` has no `{field}`"))
        };
        let numbers = |values: Option<Vec<Number>>| -> Vec<f64> {
            values.unwrap_or_default().iter().map(|x| x.0).collect()
        };
        let data = if let Some(transform) = raw.transform {
            Data::Transform(TransformCase {
                transform,
                params: tree(&need(&raw.params, "params")?)?,
                grads: trees(&need(&raw.grads, "grads")?)?,
                updates: trees(&need(&raw.updates, "updates")?)?,
                final_params: raw.final_params.as_ref().map(tree).transpose()?,
                losses: numbers(raw.values),
                extra: raw.extra,
            })
        } else if let Some(schedule) = raw.schedule {
            Data::Schedule(ScheduleCase {
                schedule,
                steps: raw.steps.unwrap_or_default(),
                values: numbers(raw.values),
            })
        } else if let Some(stats) = raw.stats {
            Data::Statistics(StatisticsCase {
                grads: tree(&need(&raw.grads, "grads")?)?,
                stats,
            })
        } else if let Some(model) = raw.model {
            Data::Model(Box::new(ModelCase {
                model,
                params: tree(&need(&raw.params, "params")?)?,
                inputs: tensor(&need(&raw.inputs, "inputs")?)?,
                targets: tensor(&need(&raw.targets, "targets")?)?,
                outputs: tensor(&need(&raw.outputs, "outputs")?)?,
                losses: numbers(raw.losses),
                grads: tree(&need(&raw.grads, "grads")?)?,
                squared_norms: numbers(raw.squared_norms),
            }))
        } else {
            Data::Unknown
        };
        Ok(Self {
            dtype: raw.dtype,
            rtol: raw.rtol,
            atol: raw.atol,
            data,
            name,
        })
    }
}

/// A number, also one that JSON has no numeral for.
pub(crate) fn number(value: &Value) -> Result<f64, String> {
    Number::deserialize(value)
        .map(|x| x.0)
        .map_err(|e| e.to_string())
}

/// Tensors by the name of their leaf.
pub(crate) fn tree(value: &Value) -> Result<HostTree, String> {
    let leaves = value
        .as_object()
        .ok_or("an object of tensors was expected")?;
    let leaves = leaves.iter().map(|(path, value)| {
        let tensor = tensor(value).map_err(|e| format!("leaf `{path}`: {e}"))?;
        Ok((path.clone(), tensor))
    });
    leaves.collect()
}

fn trees(value: &Value) -> Result<Vec<HostTree>, String> {
    let steps = value.as_array().ok_or("a list of steps was expected")?;
    steps.iter().map(tree).collect()
}

fn tensor(value: &Value) -> Result<HostTensor, String> {
    let mut shape = Vec::new();
    let mut first = value;
    while let Value::Array(items) = first {
        shape.push(items.len());
        match items.first() {
            Some(item) => first = item,
            None => break,
        }
    }
    let mut values = Vec::new();
    collect(value, &shape, &mut values)?;
    Ok(HostTensor::new(shape, values))
}

fn collect(value: &Value, shape: &[usize], values: &mut Vec<f64>) -> Result<(), String> {
    match (value, shape) {
        (Value::Array(items), [length, rest @ ..]) if items.len() == *length => {
            items.iter().try_for_each(|x| collect(x, rest, values))
        }
        (Value::Array(_), _) | (_, [_, ..]) => Err("the lists have different lengths".to_owned()),
        (x, []) => {
            values.push(number(x)?);
            Ok(())
        }
    }
}
