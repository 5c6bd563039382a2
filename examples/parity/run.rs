//! Running the cases of a file on every executor.

use std::collections::BTreeMap;

use pergrad::transforms::runner::{HostTree, StepInput};
use pergrad::transforms::spec::{Catalogue, ChainSpec};
use pergrad::transforms::{AxisKind, Dtype, ParamTree, Program};

use super::compare::{Comparison, Scale, Tolerance, largest};
use super::convert::{Plan, Unsupported, plan};
use super::executors::{EXECUTORS, Executor, Running};
use super::golden::{Case, Data, File, ScheduleCase, TransformCase, tree};
use super::kept::{self, Taken};
use super::leaves::{in_order, param_tree};
use super::measure::catalogue;
use super::report::{Line, Outcome};
use super::{different, models, per_example, schedule, statistics};

/// Runs the cases of a file in f64 or f32, in order.
pub(crate) fn run(file: &File, dtype: Dtype) -> Vec<Line> {
    let catalogue = catalogue();
    let cases = file.cases.iter();
    let lines = cases.flat_map(|case| match &case.data {
        Data::Transform(data) => vec![transform(case, data, dtype, &catalogue)],
        Data::Schedule(data) => vec![on_host(case, data)],
        Data::Statistics(data) => statistics::lines(case, data, dtype, &catalogue),
        Data::Model(data) => {
            vec![line(case, models::outcome(case, data, dtype))]
        }
        Data::Unknown => {
            let reason = "this reader does not know this kind of case";
            let outcome = Outcome::Unsupported(Unsupported::new("case", reason));
            vec![line(case, outcome)]
        }
    });
    lines.collect()
}

fn line(case: &Case, outcome: Outcome) -> Line {
    Line {
        name: case.name.clone(),
        outcome,
        unchecked: Vec::new(),
    }
}

/// Runs something on every executor. An error is a failure.
pub(crate) fn on_executors(
    dtype: Dtype,
    run: impl Fn(&Executor, &mut Comparison) -> Result<(), String>,
) -> Outcome {
    let runs = EXECUTORS.iter().map(|executor| {
        let mut comparison = Comparison::default();
        if let Err(error) = run(executor, &mut comparison) {
            comparison.fail(|| error);
        }
        (format!("{} {dtype}", executor.name), comparison)
    });
    Outcome::Ran(runs.collect())
}

/// Schedules are evaluated on the host in f64, whatever the dtype of the parameters.
fn on_host(case: &Case, data: &ScheduleCase) -> Line {
    let schedule = match schedule::schedule(&data.schedule) {
        Ok(schedule) => schedule,
        Err(unsupported) => return line(case, Outcome::Unsupported(unsupported)),
    };
    let tolerance = Tolerance::new(case, case.dtype);
    let got: Vec<f64> = data.steps.iter().map(|&t| schedule.value(t)).collect();
    let mut comparison = Comparison::default();
    let scale = |_| largest(&data.values);
    comparison.numbers("value", &got, &data.values, tolerance, scale);
    line(
        case,
        Outcome::Ran(vec![("host f64".to_owned(), comparison)]),
    )
}

fn transform(case: &Case, data: &TransformCase, dtype: Dtype, catalogue: &Catalogue) -> Line {
    let plan = match plan(data, catalogue) {
        Ok(plan) => plan,
        Err(unsupported) => return line(case, Outcome::Unsupported(unsupported)),
    };
    let tolerance = Tolerance::new(case, dtype);
    let outcome = on_executors(dtype, |executor, comparison| {
        let run = Run {
            executor,
            catalogue,
            input: plan.input,
            dtype,
            tree: &param_tree(&data.params, dtype)?,
        };
        follow(&run, &plan, data, tolerance, comparison)
    });
    let outcome = match different::reason(&case.name) {
        Some(reason) => outcome.differs(reason),
        None => outcome,
    };
    let mut unchecked: Vec<String> = data.extra.iter().flat_map(|e| e.keys()).cloned().collect();
    unchecked.sort();
    unchecked.dedup();
    unchecked.retain(|extra| !plan.checks(extra) && !kept::checks(extra));
    Line {
        unchecked,
        ..line(case, outcome)
    }
}

/// How chains are started for a case.
pub(crate) struct Run<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) input: AxisKind,
    pub(crate) dtype: Dtype,
    pub(crate) tree: &'a ParamTree,
}

impl Run<'_> {
    fn program(&self, chain: &ChainSpec) -> Result<Program, String> {
        let chain = self.catalogue.build(chain).map_err(text)?;
        chain.program_over(self.input).map_err(text)
    }

    /// A chain before its first step.
    pub(crate) fn start(&self, chain: &ChainSpec) -> Result<Box<dyn Running>, String> {
        (self.executor.start)(&self.program(chain)?, self.tree)
    }
}

/// Takes every step, and compares the updates, the extras and the parameters at the end.
fn follow(
    run: &Run<'_>,
    plan: &Plan,
    data: &TransformCase,
    tolerance: Tolerance,
    comparison: &mut Comparison,
) -> Result<(), String> {
    if data.grads.len() != data.updates.len() {
        return Err("there are not as many updates as gradients".to_owned());
    }
    let program = run.program(&plan.chain)?;
    let mut runner = (run.executor.start)(&program, run.tree)?;
    let companions = plan.companions.iter();
    let companions = companions.map(|(extra, chain)| Ok((*extra, run.start(chain)?)));
    let mut companions = companions.collect::<Result<Vec<_>, String>>()?;
    let scale = Scale::of(tolerance, &data.updates);
    let mut params = data.params.clone();
    for (t, (grads, want)) in data.grads.iter().zip(&data.updates).enumerate() {
        let extra = |name: &str| {
            let value = data.extra.get(t).and_then(|extra| extra.get(name));
            value.ok_or_else(|| format!("step {t} of the case has no extra {name}"))
        };
        let mut input = StepInput {
            grads: grads.clone(),
            params: params.clone(),
            extras: BTreeMap::new(),
        };
        for (name, companion) in &mut companions {
            let got = companion.step(&input).map_err(text)?.updates;
            let want = tree(extra(name)?)?;
            let scale = Scale::of(tolerance, [&want]);
            comparison.trees(&format!("{name} {t}"), &got, &want, tolerance, &scale);
        }
        for given in program.extras() {
            // The only named inputs of the cases are the weights of the examples and the loss.
            let values = match (&plan.weights, data.losses.get(t)) {
                (Some(weights), _) if given.name == per_example::WEIGHTS => weights.clone(),
                (_, Some(loss)) => vec![*loss],
                _ => return Err(format!("step {t} of the case has no {}", given.name)),
            };
            input.extras.insert(given.name.clone(), values);
        }
        let before = runner.state()?;
        let output = runner.step(&input).map_err(text)?;
        let what = format!("update {t}");
        comparison.trees(&what, &output.updates, want, tolerance, &scale);
        for metric in &plan.metrics {
            let got = output.metrics.get(metric.metric);
            let got = got.ok_or_else(|| format!("there is no metric {}", metric.metric))?;
            let want = in_order(extra(metric.extra)?, run.tree)?;
            let what = format!("{} {t}", metric.extra);
            let tolerance = tolerance.with_rtol(metric.rtol);
            comparison.numbers(&what, got, &want, tolerance, |_| largest(&want));
        }
        let taken = Taken {
            step: t,
            before: &before,
            after: &runner.state()?,
            params: &input.params,
        };
        for (extra, want) in data.extra.get(t).into_iter().flatten() {
            taken.compare(extra, want, tolerance, comparison)?;
        }
        if data.final_params.is_some() {
            add(&mut params, &output.updates, run.dtype);
        }
    }
    if let Some(want) = &data.final_params {
        let scale = Scale::of(tolerance, [&data.params, want]);
        comparison.trees("final parameter", &params, want, tolerance, &scale);
    }
    Ok(())
}

/// Adds the updates to the parameters, in the precision of the parameters, where they have their shape.
#[allow(clippy::cast_possible_truncation)] // rounding to f32 is meant
fn add(params: &mut HostTree, updates: &HostTree, dtype: Dtype) {
    for (path, param) in params {
        let update = updates.get(path).filter(|u| u.shape == param.shape);
        let Some(update) = update else { continue };
        for (p, u) in param.values.iter_mut().zip(&update.values) {
            *p = match dtype {
                Dtype::F32 => f64::from(*p as f32 + *u as f32),
                _ => *p + u,
            };
        }
    }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
