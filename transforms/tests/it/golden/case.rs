//! A golden case: read, run, compared.

use pergrad_transforms::reference::Reference;
use pergrad_transforms::runner::{HostTensor, HostTree, Runner, StepInput, StepOutput};
use pergrad_transforms::{AxisKind, Program, State};
use serde_json::Value;

use super::translate;
use crate::model::tree;

/// The cases of a file.
pub(super) fn cases(text: &str) -> Vec<Case> {
    let file: Value = serde_json::from_str(text).unwrap();
    let cases = file["cases"].as_array().unwrap().iter();
    cases.map(|case| Case(case.clone())).collect()
}

pub(super) struct Case(Value);

fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("NaN") => f64::NAN,
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        _ => value
            .as_f64()
            .unwrap_or_else(|| panic!("{value} is no number")),
    }
}

fn tensor(value: &Value) -> HostTensor {
    fn collect(value: &Value, shape: &mut Vec<usize>, depth: usize, out: &mut Vec<f64>) {
        let Some(items) = value.as_array() else {
            return out.push(number(value));
        };
        if shape.len() == depth {
            shape.push(items.len());
        }
        items
            .iter()
            .for_each(|item| collect(item, shape, depth + 1, out));
    }
    let (mut shape, mut values) = (Vec::new(), Vec::new());
    collect(value, &mut shape, 0, &mut values);
    HostTensor::new(shape, values)
}

fn leaves(value: &Value) -> HostTree {
    let leaves = value.as_object().unwrap().iter();
    leaves.map(|(path, x)| (path.clone(), tensor(x))).collect()
}

/// A step as it was taken.
pub(super) struct Taken<'a> {
    pub(super) output: &'a StepOutput,
    pub(super) before: &'a State,
    pub(super) after: &'a State,
    /// The parameters before it.
    pub(super) params: &'a HostTree,
}

impl Case {
    pub(super) fn name(&self) -> &str {
        self.0["name"].as_str().unwrap()
    }

    pub(super) fn transform(&self) -> &Value {
        &self.0["transform"]
    }

    /// The program, or why there is none.
    pub(super) fn program(&self) -> Result<Program, String> {
        let spec = translate::chain(self.transform());
        let chain = translate::catalogue().build(&spec);
        let program = chain.and_then(|chain| chain.program_over(AxisKind::Aggregated));
        program.map_err(|error| error.to_string())
    }

    /// Compares every step with what optax gave; `extra` compares the rest.
    pub(super) fn check(
        &self,
        program: &Program,
        extra: impl Fn(&Self, usize, &Value, &Taken<'_>),
    ) {
        let mut params = leaves(&self.0["params"]);
        let mut reference = Reference::<f64>::new(program, &tree(&params)).unwrap();
        let steps = self.0["grads"].as_array().unwrap().iter();
        for (step, (grads, updates)) in steps.zip(self.0["updates"].as_array().unwrap()).enumerate()
        {
            let mut input = StepInput {
                grads: leaves(grads),
                params: params.clone(),
                ..StepInput::default()
            };
            if let Some(values) = self.0["values"].as_array() {
                let value = number(&values[step]);
                input.extras.insert("value".to_owned(), vec![value]);
            }
            let before = reference.state();
            let output = reference.step(&input).unwrap();
            for (path, want) in leaves(updates) {
                self.assert_close(&output.updates[&path].values, &want.values, step, &path);
            }
            if let Some(extras) = self.0["extra"].as_array() {
                let taken = Taken {
                    output: &output,
                    before: &before,
                    after: &reference.state(),
                    params: &params,
                };
                extra(self, step, &extras[step], &taken);
            }
            for (path, update) in &output.updates {
                let p = params.get_mut(path).unwrap();
                p.values
                    .iter_mut()
                    .zip(&update.values)
                    .for_each(|(p, u)| *p += u);
            }
        }
        for (path, want) in leaves(&self.0["final_params"]) {
            self.assert_close(&params[&path].values, &want.values, usize::MAX, &path);
        }
    }

    pub(super) fn assert_close(&self, got: &[f64], want: &[f64], step: usize, what: &str) {
        let (rtol, atol) = (number(&self.0["rtol"]), number(&self.0["atol"]));
        assert_eq!(got.len(), want.len(), "{}: {what}", self.name());
        for (g, w) in got.iter().zip(want) {
            let same = g == w || g.is_nan() && w.is_nan() || (g - w).abs() <= atol + rtol * w.abs();
            let name = self.name();
            assert!(same, "{name}, step {step}, {what}: {got:?} is not {want:?}");
        }
    }

    /// The updates of a leaf, the parameters kept as they are.
    pub(super) fn updates(&self, path: &str) -> Vec<Vec<f64>> {
        let params = leaves(&self.0["params"]);
        let program = self.program().unwrap();
        let mut reference = Reference::<f64>::new(&program, &tree(&params)).unwrap();
        let step = |grads: &Value| {
            let input = StepInput {
                grads: leaves(grads),
                params: params.clone(),
                ..StepInput::default()
            };
            reference.step(&input).unwrap().updates[path].values.clone()
        };
        self.0["grads"]
            .as_array()
            .unwrap()
            .iter()
            .map(step)
            .collect()
    }

    pub(super) fn extra_leaves(value: &Value) -> HostTree {
        leaves(value)
    }
}
