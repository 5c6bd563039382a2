//! Update rules as text, for snapshot tests.
//!
//! An [`UpdateTrace`] runs a chain over a fixed sequence of gradients and prints parameters and updates, rounded to a few
//! significant digits, with `-0` as `0`. The text is the same on every executor up to that rounding, so a snapshot of it pins
//! an update rule: whoever changes the rule sees the change.

use std::fmt::Write as _;

use crate::axis::{Axis, AxisKind};
use crate::error::Error;
use crate::program::Program;
use crate::reference::Reference;
use crate::runner::{HostTensor, HostTree, Runner, StepInput};
use crate::transform::{Transform, program_over};
use crate::tree::{Dtype, LeafInfo, ParamTree};

/// A fixed sequence of gradients for a chain, and the text of what the chain makes of them.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// use pergrad_transforms::update_trace::UpdateTrace;
///
/// let text = UpdateTrace::per_example(&sgd(0.1))
///     .unwrap()
///     .leaf("w", [2], [1.0, -1.0])
///     .step([("w", vec![2.0, 0.0, 4.0, 0.0])]) // two examples
///     .on_reference()
///     .unwrap();
/// assert_eq!(text, "\
/// step  leaf  parameters  update
/// 0     w     [1, -1]     [-0.3, 0]
/// 1     w     [0.7, -1]
/// ");
/// ```
#[derive(Clone, Debug)]
pub struct UpdateTrace {
    program: Program,
    params: Vec<(String, HostTensor)>,
    steps: Vec<Vec<(String, Vec<f64>)>>,
    extras: Vec<std::collections::BTreeMap<String, Vec<f64>>>,
    digits: usize,
}

impl UpdateTrace {
    /// For a chain over per-example gradients.
    ///
    /// # Errors
    /// A hyper-parameter that makes no sense.
    pub fn per_example<T: Transform<crate::PerExample>>(chain: &T) -> Result<Self, Error> {
        Self::over::<crate::PerExample, T>(chain)
    }

    /// For a chain over aggregated gradients.
    ///
    /// # Errors
    /// A hyper-parameter that makes no sense.
    pub fn aggregated<T: Transform<crate::Aggregated>>(chain: &T) -> Result<Self, Error> {
        Self::over::<crate::Aggregated, T>(chain)
    }

    fn over<In: Axis, T: Transform<In>>(chain: &T) -> Result<Self, Error> {
        Ok(Self::of_program(program_over::<In, T>(chain)?))
    }

    /// For a program, such as that of a run-time chain.
    pub fn of_program(program: Program) -> Self {
        Self {
            program,
            params: Vec::new(),
            steps: Vec::new(),
            extras: Vec::new(),
            digits: 6,
        }
    }

    /// Adds a parameter with its first value.
    ///
    /// # Panics
    /// If the number of values is not the product of the shape.
    #[must_use]
    pub fn leaf(
        mut self,
        path: impl Into<String>,
        shape: impl Into<Vec<usize>>,
        values: impl Into<Vec<f64>>,
    ) -> Self {
        self.params
            .push((path.into(), HostTensor::new(shape, values)));
        self
    }

    /// Adds a step: for each leaf the gradients of all examples, one example after the other.
    #[must_use]
    pub fn step<P: Into<String>>(self, grads: impl IntoIterator<Item = (P, Vec<f64>)>) -> Self {
        self.step_with(grads, [])
    }

    /// Adds a step with named inputs, each a number or one number for each example.
    #[must_use]
    pub fn step_with<P: Into<String>>(
        mut self,
        grads: impl IntoIterator<Item = (P, Vec<f64>)>,
        extras: impl IntoIterator<Item = (&'static str, Vec<f64>)>,
    ) -> Self {
        let grads = grads.into_iter().map(|(path, g)| (path.into(), g));
        self.steps.push(grads.collect());
        let extras = extras.into_iter().map(|(name, x)| (name.to_owned(), x));
        self.extras.push(extras.collect());
        self
    }

    /// How many significant digits are printed; 6 unless set. Fewer hide more of the differences between executors.
    #[must_use]
    pub fn digits(mut self, digits: usize) -> Self {
        self.digits = digits;
        self
    }

    /// The program that is traced.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The leaves as f64 parameters, for making an executor.
    ///
    /// # Errors
    /// Two leaves of one path.
    pub fn tree(&self) -> Result<ParamTree, Error> {
        let leaves = self.params.iter().map(|(path, tensor)| LeafInfo {
            path: path.clone(),
            shape: tensor.shape.clone(),
            dtype: Dtype::F64,
        });
        ParamTree::new(leaves.collect())
    }

    /// The text, computed by the reference in f64.
    ///
    /// # Errors
    /// Inputs that do not fit.
    pub fn on_reference(&self) -> Result<String, Error> {
        self.run(&mut Reference::<f64>::new(&self.program, &self.tree()?)?)
    }

    /// The text, computed by any executor of the same program over the same leaves.
    ///
    /// # Errors
    /// Inputs that do not fit, or a failure of the executor.
    pub fn run(&self, runner: &mut dyn Runner) -> Result<String, Error> {
        let mut params: HostTree = self.params.iter().cloned().collect();
        let per_example = self.program.input() == AxisKind::PerExample;
        let apply = self.program.output() == AxisKind::Aggregated;
        let header = ["step", "leaf", "parameters", "update"].map(str::to_owned);
        let mut rows = vec![header.to_vec()];
        for (step, grads) in self.steps.iter().enumerate() {
            let mut input = StepInput {
                params: params.clone(),
                extras: self.extras[step].clone(),
                ..StepInput::default()
            };
            for (path, values) in grads {
                let mut shape = params.get(path).map_or(vec![], |p| p.shape.clone());
                if per_example {
                    let size = shape.iter().product::<usize>().max(1);
                    shape.insert(0, values.len() / size);
                }
                if shape.iter().product::<usize>() != values.len() {
                    return Err(Error::LeafShape {
                        leaf: path.clone(),
                        expected: format!("{shape:?}"),
                        got: format!("{} values", values.len()),
                        hint: "",
                    });
                }
                let tensor = HostTensor::new(shape, values.clone());
                input.grads.insert(path.clone(), tensor);
            }
            let output = runner.step(&input)?;
            for (path, _) in &self.params {
                let before = &params[path].values;
                let update = &output.updates[path].values;
                rows.push(vec![
                    step.to_string(),
                    path.clone(),
                    self.numbers(before),
                    self.numbers(update),
                ]);
            }
            if apply {
                for (path, param) in &mut params {
                    let update = &output.updates[path].values;
                    for (p, u) in param.values.iter_mut().zip(update) {
                        *p += u;
                    }
                }
            }
        }
        for (path, _) in &self.params {
            let last = self.numbers(&params[path].values);
            rows.push(vec![self.steps.len().to_string(), path.clone(), last]);
        }
        Ok(table(&rows))
    }

    fn numbers(&self, values: &[f64]) -> String {
        let texts: Vec<_> = values.iter().map(|&x| round(x, self.digits)).collect();
        format!("[{}]", texts.join(", "))
    }
}

/// A number with `digits` significant digits, without trailing zeros, and without a sign on 0.
pub fn round(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let rounded: f64 = format!("{x:.*e}", digits.saturating_sub(1))
        .parse()
        .expect("a number that was just printed");
    if (1e-4..1e7).contains(&rounded.abs()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// Rows as aligned columns.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows[0].len();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
