//! From a function of the library to a chain of ours, or the reason why there is none.

use pergrad::transforms::AxisKind;
use pergrad::transforms::spec::{Catalogue, ChainSpec, LinkSpec};
use serde_json::Value;

use super::golden::{Call, TransformCase, number};
use super::{link, per_example};

/// Why a case has no chain. Never a success.
#[derive(Clone, Debug)]
pub(crate) struct Unsupported {
    /// What is missing, for counting: most often a function of the library.
    pub(crate) kind: String,
    pub(crate) reason: String,
}

impl Unsupported {
    pub(crate) fn new(kind: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            reason: reason.into(),
        }
    }
}

/// What to run for a case, and what to compare beside the updates.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Whether the gradients have the examples apart.
    pub(crate) input: AxisKind,
    pub(crate) chain: ChainSpec,
    /// Extras of the case that are metrics of ours.
    pub(crate) metrics: Vec<Metric>,
    /// Extras of the case that are the updates of a chain of their own.
    pub(crate) companions: Vec<(&'static str, ChainSpec)>,
    /// The weights of the examples, where the chain reads [`per_example::WEIGHTS`].
    pub(crate) weights: Option<Vec<f64>>,
}

/// An extra of a case and the metric that should equal it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    pub(crate) extra: &'static str,
    pub(crate) metric: &'static str,
    /// The relative tolerance if that of the case does not apply.
    pub(crate) rtol: Option<f64>,
}

impl Plan {
    pub(crate) fn new(input: AxisKind, links: impl IntoIterator<Item = LinkSpec>) -> Self {
        Self {
            input,
            chain: links.into_iter().collect(),
            metrics: Vec::new(),
            companions: Vec::new(),
            weights: None,
        }
    }

    pub(crate) fn metric(
        mut self,
        extra: &'static str,
        metric: &'static str,
        rtol: Option<f64>,
    ) -> Self {
        self.metrics.push(Metric {
            extra,
            metric,
            rtol,
        });
        self
    }

    /// Whether an extra of the case is compared.
    pub(crate) fn checks(&self, extra: &str) -> bool {
        self.metrics.iter().any(|m| m.extra == extra)
            || self.companions.iter().any(|(name, _)| *name == extra)
    }
}

/// The chain for a case.
pub(crate) fn plan(case: &TransformCase, catalogue: &Catalogue) -> Result<Plan, Unsupported> {
    let plan = per_example::plan(&case.transform, catalogue);
    plan.unwrap_or_else(|| {
        let links = link::links(&case.transform, catalogue)?;
        Ok(Plan::new(AxisKind::Aggregated, links))
    })
}

/// Arguments by name, where a conversion looks into them.
impl Call {
    fn get<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, Unsupported> {
        self.args.get(name).and_then(read).ok_or_else(|| {
            let reason = format!("its argument `{name}` is not {expected}");
            Unsupported::new(&self.kind, reason)
        })
    }

    pub(crate) fn value(&self, name: &str) -> Result<Value, Unsupported> {
        self.get(name, "there", |x| Some(x.clone()))
    }

    pub(crate) fn number(&self, name: &str) -> Result<f64, Unsupported> {
        self.get(name, "a number", |x| number(x).ok())
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, Unsupported> {
        self.get(name, "true or false", Value::as_bool)
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, Unsupported> {
        self.get(name, "a text", |x| x.as_str().map(str::to_owned))
    }

    pub(crate) fn call(&self, name: &str) -> Result<Self, Unsupported> {
        self.get(name, "a transformation", |x| {
            serde_json::from_value(x.clone()).ok()
        })
    }

    pub(crate) fn calls(&self, name: &str) -> Result<Vec<Self>, Unsupported> {
        self.get(name, "a list of transformations", |x| {
            serde_json::from_value(x.clone()).ok()
        })
    }

    /// Refuses every argument that the conversion does not look at, unless it is null.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Unsupported> {
        let other = self
            .args
            .iter()
            .find(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
        match other {
            None => Ok(()),
            Some((name, value)) => Err(self.refuse(name, value)),
        }
    }

    /// An argument with a value that we have nothing for.
    pub(crate) fn refuse(&self, name: &str, value: &Value) -> Unsupported {
        let kind = format!("{} with {name}", self.kind);
        Unsupported::new(kind, format!("we have nothing for {name} = {value}"))
    }
}
