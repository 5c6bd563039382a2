//! The data a chain is built from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::program::Number;

/// The value of an argument in a specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArgumentValue {
    /// Not given.
    Null,
    /// Yes or no.
    Flag(bool),
    /// A number; `"inf"`, `"-inf"` and `"NaN"` are numbers too.
    Number(Number),
    /// A text.
    Text(String),
    /// A list: links, most often.
    List(Vec<ArgumentValue>),
    /// A table: a schedule, a selection of leaves, or a link.
    Table(BTreeMap<String, ArgumentValue>),
}

impl From<f64> for ArgumentValue {
    fn from(x: f64) -> Self {
        Self::Number(Number(x))
    }
}

impl From<bool> for ArgumentValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for ArgumentValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl std::fmt::Display for ArgumentValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => write!(f, "null"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::List(items) => write!(f, "a list of {}", items.len()),
            Self::Table(table) => {
                let keys: Vec<_> = table.keys().map(String::as_str).collect();
                write!(f, "a table with {}", keys.join(", "))
            }
        }
    }
}

/// A link by name, with its arguments: `{"link": "ema", "decay": 0.9}`, or just `"mean"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawLinkSpec")]
pub struct LinkSpec {
    /// The name in the catalogue.
    pub link: String,
    /// The arguments by name; those left out take their defaults.
    #[serde(flatten)]
    pub arguments: BTreeMap<String, ArgumentValue>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "the name of a link, or a table such as {\"link\": \"ema\", \"decay\": 0.9}"
)]
enum RawLinkSpec {
    Name(String),
    Full {
        link: String,
        #[serde(flatten)]
        arguments: BTreeMap<String, ArgumentValue>,
    },
}

impl From<RawLinkSpec> for LinkSpec {
    fn from(raw: RawLinkSpec) -> Self {
        match raw {
            RawLinkSpec::Name(link) => Self::new(link),
            RawLinkSpec::Full { link, arguments } => Self { link, arguments },
        }
    }
}

impl LinkSpec {
    /// The link `name` with its defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            link: name.into(),
            arguments: BTreeMap::new(),
        }
    }

    /// The same with one more argument.
    #[must_use]
    pub fn with(mut self, argument: impl Into<String>, value: impl Into<ArgumentValue>) -> Self {
        self.arguments.insert(argument.into(), value.into());
        self
    }
}

impl std::fmt::Display for LinkSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let arguments: Vec<_> = self
            .arguments
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        write!(f, "{}({})", self.link, arguments.join(", "))
    }
}

/// The links of a chain in data-flow order. In serde data a list, or a table with the list under `links`, as TOML needs it.
///
/// # Example
/// ```
/// use pergrad_transforms::spec::ChainSpec;
/// let text = r#"["sign", "mean", {"link": "ema", "decay": 0.9}]"#;
/// let spec: ChainSpec = serde_json::from_str(text).unwrap();
/// assert_eq!(spec.to_string(), "sign() -> mean() -> ema(decay=0.9)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawChainSpec")]
pub struct ChainSpec {
    /// The links, first applied first.
    pub links: Vec<LinkSpec>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a list of links, or a table with that list under `links`; each link is a name or a table such as {\"link\": \"ema\", \"decay\": 0.9}"
)]
enum RawChainSpec {
    List(Vec<LinkSpec>),
    Table { links: Vec<LinkSpec> },
}

impl From<RawChainSpec> for ChainSpec {
    fn from(raw: RawChainSpec) -> Self {
        let (RawChainSpec::List(links) | RawChainSpec::Table { links }) = raw;
        Self { links }
    }
}

impl FromIterator<LinkSpec> for ChainSpec {
    fn from_iter<I: IntoIterator<Item = LinkSpec>>(links: I) -> Self {
        Self {
            links: links.into_iter().collect(),
        }
    }
}

impl std::fmt::Display for ChainSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let links: Vec<_> = self.links.iter().map(ToString::to_string).collect();
        f.write_str(&links.join(" -> "))
    }
}
