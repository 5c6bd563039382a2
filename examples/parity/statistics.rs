//! Statistics over the examples: by element as the updates of a chain, the others as a metric of one.

use pergrad::transforms::runner::StepInput;
use pergrad::transforms::spec::{Catalogue, ChainSpec, LinkSpec};
use pergrad::transforms::{AxisKind, Dtype, Error};
use serde_json::Value;

use super::compare::{Comparison, Scale, Tolerance, largest};
use super::convert::Unsupported;
use super::golden::{Call, Case, StatisticsCase, tree};
use super::leaves::{in_order, param_tree, zeros_below};
use super::measure::Measure;
use super::per_example;
use super::report::{Line, Outcome};
use super::run::{Run, on_executors};

/// One line for each statistic of the case.
pub(crate) fn lines(
    case: &Case,
    data: &StatisticsCase,
    dtype: Dtype,
    catalogue: &Catalogue,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, want) in parts(data) {
        let outcome = match chain(&name) {
            Err(unsupported) => Outcome::Unsupported(unsupported),
            Ok(chain) => on_executors(dtype, |executor, comparison| {
                let params = zeros_below(&data.grads);
                let run = Run {
                    executor,
                    catalogue,
                    input: AxisKind::PerExample,
                    dtype,
                    tree: &param_tree(&params, dtype)?,
                };
                let input = StepInput {
                    grads: data.grads.clone(),
                    params,
                    ..StepInput::default()
                };
                let tolerance = Tolerance::new(case, dtype);
                check(&run, &chain, &input, &want, tolerance, comparison)
            }),
        };
        lines.push(Line {
            name: format!("{}/{name}", case.name),
            outcome,
            unchecked: Vec::new(),
        });
    }
    lines
}

/// The statistics of a case; the gradient noise scale is three.
fn parts(data: &StatisticsCase) -> Vec<(String, Value)> {
    let mut parts = Vec::new();
    for (name, want) in &data.stats {
        if name == "gns" {
            for part in ["g2", "s", "ratio"] {
                let want = want.get(part).cloned().unwrap_or(Value::Null);
                parts.push((format!("gns.{part}"), want));
            }
        } else {
            parts.push((name.clone(), want.clone()));
        }
    }
    parts
}

fn measures() -> impl Iterator<Item = &'static str> {
    Measure::ALL.iter().map(|(name, _)| *name)
}

/// The chain that gives a statistic.
fn chain(name: &str) -> Result<ChainSpec, Unsupported> {
    if let Some(measure) = measures().find(|measure| *measure == name) {
        let measure = LinkSpec::new("measure").with("what", measure);
        return Ok(ChainSpec::from_iter([measure]));
    }
    let links = match name {
        "unbiased_square_of_mean" => vec![LinkSpec::new(name)],
        "gsnr_ddof0" => vec![LinkSpec::new("gsnr").with("ddof", 0.0)],
        "gsnr_ddof1" => vec![LinkSpec::new("gsnr").with("ddof", 1.0)],
        _ => reduce(name)?,
    };
    Ok(links.into_iter().collect())
}

fn reduce(name: &str) -> Result<Vec<LinkSpec>, Unsupported> {
    let mut args = std::collections::BTreeMap::new();
    match name.strip_prefix("trimmed_mean_") {
        None => args.insert("op".to_owned(), Value::from(name)),
        Some(k) => {
            args.insert("k".to_owned(), Value::from(k.parse::<u64>().ok()));
            args.insert("op".to_owned(), Value::from("trimmed_mean"))
        }
    };
    let kind = "reduce".to_owned();
    per_example::reduce(&Call { kind, args })
        .map_err(|_| Unsupported::new(format!("statistic {name}"), "no chain gives it"))
}

fn check(
    run: &Run<'_>,
    chain: &ChainSpec,
    input: &StepInput,
    want: &Value,
    tolerance: Tolerance,
    comparison: &mut Comparison,
) -> Result<(), String> {
    let output = match run.start(chain)?.step(input) {
        // Too few examples: undefined for us as for the library.
        Err(Error::TooFewExamples { .. }) if want.is_null() => {
            comparison.elements += 1;
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
        Ok(output) => output,
    };
    let metric = output.metrics.values().next();
    match (want, metric) {
        // A division by zero that depends on the data cannot be an error; it must show.
        (Value::Null, Some(got)) if !got.iter().any(|x| x.is_finite()) => {
            comparison.elements += got.len();
        }
        (Value::Null, _) => return Err("defined, but it should not be".to_owned()),
        (want, Some(got)) => {
            let want = in_order(want, run.tree)?;
            comparison.numbers("value", got, &want, tolerance, |_| largest(&want));
        }
        (want, None) => {
            let want = tree(want)?;
            let scale = Scale::of(tolerance, [&want]);
            comparison.trees("value", &output.updates, &want, tolerance, &scale);
        }
    }
    Ok(())
}
