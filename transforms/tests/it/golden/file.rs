//! Reading a golden file: tensors as nested lists, `"NaN"` and `"inf"` as text, `null` for "none".

use pergrad_transforms::program::Number;
use pergrad_transforms::runner::{HostTensor, HostTree};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The cases of a file in `tests/golden`.
pub(super) fn cases(file: &str) -> Vec<Case> {
    let path = format!("{}/../tests/golden/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: File = serde_json::from_str(&text).unwrap();
    file.cases
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// A case: a transformation over some steps, or a schedule at some steps.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) rtol: f64,
    pub(super) atol: f64,
    pub(super) transform: Option<Call>,
    pub(super) schedule: Option<Call>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    grads: Vec<Value>,
    #[serde(default)]
    updates: Vec<Value>,
    #[serde(default)]
    final_params: Value,
    #[serde(default)]
    pub(super) steps: Vec<u64>,
    pub(super) values: Option<Vec<Number>>,
    pub(super) extra: Option<Vec<Value>>,
}

/// A function of the library and its keyword arguments.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Call {
    pub(super) kind: String,
    pub(super) args: Map<String, Value>,
}

impl Call {
    pub(super) fn read(value: &Value) -> Self {
        serde_json::from_value(value.clone()).expect("a function and its arguments")
    }
}

impl Case {
    pub(super) fn params(&self) -> HostTree {
        tree(&self.params)
    }

    pub(super) fn final_params(&self) -> HostTree {
        tree(&self.final_params)
    }

    pub(super) fn grads(&self) -> Vec<HostTree> {
        self.grads.iter().map(tree).collect()
    }

    pub(super) fn updates(&self) -> Vec<HostTree> {
        self.updates.iter().map(tree).collect()
    }

    /// Whether a number is within the tolerance of the case.
    pub(super) fn allows(&self, got: f64, want: f64) -> bool {
        got == want
            || got.is_nan() && want.is_nan()
            || want.is_finite() && (got - want).abs() <= self.atol + self.rtol * want.abs()
    }
}

pub(super) fn tree(value: &Value) -> HostTree {
    let leaves = value.as_object().expect("tensors by name").iter();
    leaves.map(|(path, x)| (path.clone(), tensor(x))).collect()
}

fn tensor(value: &Value) -> HostTensor {
    let (mut shape, mut first) = (Vec::new(), value);
    while let Value::Array(items) = first {
        shape.push(items.len());
        first = &items[0];
    }
    let mut values = Vec::new();
    collect(value, &mut values);
    HostTensor::new(shape, values)
}

fn collect(value: &Value, values: &mut Vec<f64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, values)),
        number => values.push(Number::deserialize(number).expect("a number").0),
    }
}
