//! One function of the library as links of the catalogue.
//!
//! Our links carry the names and arguments of optax, so the catalogue itself says what is supported: a link that is added
//! to it is compared from then on. Only what is named differently stands here.

use pergrad::transforms::spec::{Argument, ArgumentValue, Catalogue, Family, LinkSpec};
use serde_json::Value;

use super::convert::Unsupported;
use super::golden::Call;
use super::schedule;

/// Functions of the library, their argument if it has another name, and our link.
const RENAMED: &[(&str, &str)] = &[
    ("nadam", "adam"),
    ("nadamw", "adamw"),
    ("scale_by_schedule", "scale"),
    ("scale_by_sign", "sign"),
];

const RENAMED_ARGUMENTS: &[(&str, &str, &str)] =
    &[("scale_by_schedule", "step_size_fn", "step_size")];

/// The links for a function of the library.
pub(crate) fn links(call: &Call, catalogue: &Catalogue) -> Result<Vec<LinkSpec>, Unsupported> {
    match call.kind.as_str() {
        "chain" => {
            call.only(&["transforms"])?;
            let calls = call.calls("transforms")?;
            let links = calls.iter().map(|call| links(call, catalogue));
            Ok(links.collect::<Result<Vec<_>, _>>()?.concat())
        }
        "elementwise" => {
            call.only(&["fn"])?;
            elementwise(&call.text("fn")?, catalogue).map(|link| vec![link])
        }
        _ => named(call, catalogue).map(|link| vec![link]),
    }
}

fn elementwise(function: &str, catalogue: &Catalogue) -> Result<LinkSpec, Unsupported> {
    let is_elementwise = |name| {
        let entry = catalogue.get(name);
        entry.is_some_and(|entry| entry.family == Family::Elementwise)
    };
    match function {
        "negate" => Ok(LinkSpec::new("scale").with("step_size", -1.0)),
        name if is_elementwise(name) => Ok(LinkSpec::new(name)),
        name => Err(Unsupported::new(
            format!("elementwise {name}"),
            format!("the catalogue has no link for the function {name}"),
        )),
    }
}

fn named(call: &Call, catalogue: &Catalogue) -> Result<LinkSpec, Unsupported> {
    let kind = call.kind.as_str();
    let renamed = RENAMED.iter().find(|(theirs, _)| *theirs == kind);
    let name = match renamed {
        Some((_, ours)) if catalogue.get(kind).is_none() => ours,
        _ => kind,
    };
    let entry = catalogue
        .get(name)
        .ok_or_else(|| Unsupported::new(kind, format!("the catalogue has no link for {kind}")))?;
    let mut link = LinkSpec::new(name);
    for (theirs, value) in &call.args {
        let renamed = RENAMED_ARGUMENTS
            .iter()
            .find(|(of, argument, _)| *of == kind && argument == theirs);
        let ours = renamed.map_or(theirs.as_str(), |(_, _, ours)| ours);
        let taken = entry.arguments.iter().find(|a| a.name == ours);
        match taken {
            None if means_off(call, theirs, value) => {}
            Some(argument) if value.is_null() && none_is_default(argument) => {}
            Some(_) if !value.is_null() => link = link.with(ours, argument(call, theirs, value)?),
            _ => return Err(call.refuse(theirs, value)),
        }
    }
    Ok(link)
}

/// Whether leaving the argument out means the same as giving null.
fn none_is_default(argument: &Argument) -> bool {
    matches!(argument.default, Some("none" | "all"))
}

/// Whether an argument that our link does not take has the value that turns it off.
fn means_off(call: &Call, name: &str, value: &Value) -> bool {
    let hard = || call.args.get("mode").is_some_and(|mode| mode == "hard");
    match (call.kind.as_str(), name) {
        _ if value.is_null() => true,
        ("scale_by_lion", "mode" | "smooth_beta") => hard(),
        _ => false,
    }
}

fn argument(call: &Call, name: &str, value: &Value) -> Result<ArgumentValue, Unsupported> {
    let data = match value.get("schedule") {
        Some(of) => {
            let of: Call =
                serde_json::from_value(of.clone()).map_err(|_| call.refuse(name, value))?;
            schedule::data(&of)?
        }
        None => value.clone(),
    };
    serde_json::from_value(data).map_err(|_| call.refuse(name, value))
}
