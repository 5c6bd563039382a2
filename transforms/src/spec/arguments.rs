//! The arguments of a link in a specification, taken out by name and kind.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ArgumentValue, Catalogue, LinkSpec};
use crate::error::Error;
use crate::hyper::Hyper;
use crate::leaves::Leaves;
use crate::random::Seed;
use crate::schedule::Schedule;

/// An argument of a link, for the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its default as text; none if it must be given.
    pub default: Option<&'static str>,
}

impl Argument {
    /// An argument that must be given.
    pub const fn required(name: &'static str) -> Self {
        Self {
            name,
            default: None,
        }
    }

    /// An argument that has a default.
    pub const fn optional(name: &'static str, default: &'static str) -> Self {
        Self {
            name,
            default: Some(default),
        }
    }
}

/// The arguments that a specification gives to one link. A link's `build` function takes out what it knows; what is
/// left over is an error.
#[derive(Debug)]
pub struct Arguments<'a> {
    pub(super) link: &'a str,
    pub(super) values: &'a BTreeMap<String, ArgumentValue>,
    asked: BTreeSet<&'static str>,
    pub(super) catalogue: &'a Catalogue,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(spec: &'a LinkSpec, catalogue: &'a Catalogue) -> Self {
        Self {
            link: &spec.link,
            values: &spec.arguments,
            asked: BTreeSet::new(),
            catalogue,
        }
    }

    pub(super) fn get(&mut self, name: &'static str) -> Option<&'a ArgumentValue> {
        self.asked.insert(name);
        self.values
            .get(name)
            .filter(|value| !matches!(value, ArgumentValue::Null))
    }

    pub(super) fn wrong(&self, name: &str, expected: &'static str, got: &ArgumentValue) -> Error {
        Error::ArgumentKind {
            link: self.link.to_owned(),
            argument: name.to_owned(),
            expected,
            got: got.to_string(),
        }
    }

    pub(super) fn missing(&self, name: &str, expected: &'static str) -> Error {
        Error::MissingArgument {
            link: self.link.to_owned(),
            argument: name.to_owned(),
            expected,
        }
    }

    /// Anything that is written as data, such as a schedule.
    pub(super) fn data<T: DeserializeOwned>(
        &self,
        name: &str,
        value: &ArgumentValue,
        expected: &'static str,
    ) -> Result<T, Error> {
        read(value).map_err(|_| self.wrong(name, expected, value))
    }

    /// A number or a schedule that must be given.
    ///
    /// # Errors
    /// If it is missing or of another kind.
    pub fn hyper(&mut self, name: &'static str) -> Result<Hyper, Error> {
        self.optional_hyper(name)?
            .ok_or_else(|| self.missing(name, HYPER))
    }

    /// A number or a schedule that may be left out.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn optional_hyper(&mut self, name: &'static str) -> Result<Option<Hyper>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(ArgumentValue::Number(x)) => Ok(Some(Hyper::Number(*x))),
            Some(value @ ArgumentValue::Table(table)) if table.contains_key("schedule") => {
                let schedule: Result<Schedule, _> = read(value);
                let reason = |error| format!("{value} ({error})");
                schedule
                    .map(|schedule| Some(schedule.into()))
                    .map_err(|error| Error::ArgumentKind {
                        link: self.link.to_owned(),
                        argument: name.to_owned(),
                        expected: HYPER,
                        got: reason(error),
                    })
            }
            Some(value @ ArgumentValue::Table(_)) => self.data(name, value, HYPER).map(Some),
            Some(value) => Err(self.wrong(name, HYPER, value)),
        }
    }

    /// Replaces a default by what the specification gives.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn set_hyper(&mut self, name: &'static str, hyper: &mut Hyper) -> Result<(), Error> {
        if let Some(given) = self.optional_hyper(name)? {
            *hyper = given;
        }
        Ok(())
    }

    /// A number that cannot change with the step, which may be left out.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn number(&mut self, name: &'static str) -> Result<Option<f64>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(ArgumentValue::Number(x)) => Ok(Some(x.0)),
            Some(value) => Err(self.wrong(name, NUMBER, value)),
        }
    }

    /// A number that cannot change with the step, which must be given.
    ///
    /// # Errors
    /// If it is missing or of another kind.
    pub fn required_number(&mut self, name: &'static str) -> Result<f64, Error> {
        self.number(name)?.ok_or_else(|| self.missing(name, NUMBER))
    }

    /// A list of whole numbers that may be left out.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn counts(&mut self, name: &'static str) -> Result<Option<Vec<u32>>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => self.data(name, value, COUNTS).map(Some),
        }
    }

    /// A flag that may be left out.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(ArgumentValue::Flag(flag)) => Ok(Some(*flag)),
            Some(value) => Err(self.wrong(name, "true or false", value)),
        }
    }

    /// A whole number that may be left out.
    ///
    /// # Errors
    /// If it is of another kind, negative or not whole.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
    pub fn count(&mut self, name: &'static str) -> Result<Option<usize>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(ArgumentValue::Number(x)) if x.0 >= 0.0 && x.0.fract() == 0.0 && x.0 < 9.0e15 => {
                Ok(Some(x.0 as usize))
            }
            Some(value) => Err(self.wrong(name, COUNT, value)),
        }
    }

    /// A whole number that must be given.
    ///
    /// # Errors
    /// If it is missing, of another kind, negative or not whole.
    pub fn required_count(&mut self, name: &'static str) -> Result<usize, Error> {
        self.count(name)?.ok_or_else(|| self.missing(name, COUNT))
    }

    /// A text that must be given.
    ///
    /// # Errors
    /// If it is missing or of another kind.
    pub fn text(&mut self, name: &'static str) -> Result<&'a str, Error> {
        match self.get(name) {
            None => Err(self.missing(name, "a text")),
            Some(ArgumentValue::Text(text)) => Ok(text),
            Some(value) => Err(self.wrong(name, "a text", value)),
        }
    }

    /// The seed `"seed"` of random numbers: a whole number, or 64 hexadecimal digits. A seed of the operating system if it is left out.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn seed(&mut self) -> Result<Seed, Error> {
        const EXPECTED: &str = "a whole number or 64 hexadecimal digits";
        match self.get("seed") {
            None => Ok(Seed::from_os()),
            Some(ArgumentValue::Number(x)) if x.0 >= 0.0 && x.0.fract() == 0.0 && x.0 < 9.0e15 => {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
                let number = x.0 as u64;
                Ok(Seed::from(number))
            }
            Some(ArgumentValue::Text(text)) => Seed::from_hex(text).ok_or_else(|| {
                // The text would show a secret with a misspelled digit.
                let hidden = ArgumentValue::Text("another text".to_owned());
                self.wrong("seed", EXPECTED, &hidden)
            }),
            Some(value) => Err(self.wrong("seed", EXPECTED, value)),
        }
    }

    /// One of a few words, which may be left out.
    ///
    /// # Errors
    /// If it is another word or of another kind.
    pub fn choice(
        &mut self,
        name: &'static str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => {
                let word = words
                    .iter()
                    .find(|word| matches!(value, ArgumentValue::Text(text) if text == **word));
                word.map(|word| Some(*word))
                    .ok_or_else(|| Error::ArgumentKind {
                        link: self.link.to_owned(),
                        argument: name.to_owned(),
                        expected: "one of the words the link knows",
                        got: format!("{value} (it knows {})", words.join(", ")),
                    })
            }
        }
    }

    /// A selection of leaves that may be left out. A table of truth values means paths.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn leaves(&mut self, name: &'static str) -> Result<Option<Leaves>, Error> {
        let value = self.get(name);
        value.map(|value| self.selection(name, value)).transpose()
    }

    pub(super) fn selection(&self, name: &str, value: &ArgumentValue) -> Result<Leaves, Error> {
        match value {
            ArgumentValue::Flag(true) => Ok(Leaves::All),
            ArgumentValue::Flag(false) => Ok(Leaves::none()),
            ArgumentValue::Table(table)
                if table.values().all(|v| matches!(v, ArgumentValue::Flag(_))) =>
            {
                let paths = table
                    .iter()
                    .map(|(path, value)| (path.clone(), *value == ArgumentValue::Flag(true)));
                Ok(Leaves::Paths(paths.collect()))
            }
            value => self.data(name, value, LEAVES),
        }
    }

    /// A selection of leaves that must be given.
    ///
    /// # Errors
    /// If it is missing or of another kind.
    pub fn required_leaves(&mut self, name: &'static str) -> Result<Leaves, Error> {
        self.leaves(name)?.ok_or_else(|| self.missing(name, LEAVES))
    }

    /// Anything that is written as data and must be given.
    ///
    /// # Errors
    /// If it is missing or of another kind.
    pub fn required_data<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<T, Error> {
        let value = self.get(name).ok_or_else(|| self.missing(name, expected))?;
        self.data(name, value, expected)
    }

    /// The error about an argument that a link does not declare, if one was given.
    pub(super) fn misspelled(&self, declared: &[Argument]) -> Option<Error> {
        let known = |name: &str| declared.iter().any(|argument| argument.name == name);
        let unknown = self.values.keys().find(|name| !known(name))?;
        Some(Error::UnknownArgument {
            link: self.link.to_owned(),
            argument: unknown.clone(),
            known: declared.iter().map(|a| a.name.to_owned()).collect(),
        })
    }

    /// Complains about what nobody asked for.
    pub(super) fn finish(self) -> Result<(), Error> {
        let unknown = self
            .values
            .keys()
            .find(|name| !self.asked.contains(name.as_str()));
        match unknown {
            None => Ok(()),
            Some(name) => Err(Error::UnknownArgument {
                link: self.link.to_owned(),
                argument: name.clone(),
                known: self.asked.iter().map(ToString::to_string).collect(),
            }),
        }
    }
}

fn read<T: DeserializeOwned>(value: &ArgumentValue) -> Result<T, serde_json::Error> {
    serde_json::to_value(value)
        .map(whole_numbers)
        .and_then(serde_json::from_value)
}

/// Writes whole numbers as such. Every number of a specification is an f64, but serde reads a count such as
/// `transition_steps` or `rank_at_least` from an integer only, never from `10.0`.
#[allow(clippy::cast_possible_truncation)] // whole, and below 2^53
fn whole_numbers(value: Value) -> Value {
    const EXACT: f64 = 9.0e15;
    match value {
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(table) => {
            let table = table.into_iter();
            table.map(|(key, x)| (key, whole_numbers(x))).collect()
        }
        Value::Number(x) => match x.as_f64() {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < EXACT => (whole as i64).into(),
            _ => Value::Number(x),
        },
        other => other,
    }
}

const HYPER: &str = "a number or a schedule";
const NUMBER: &str = "a number";
const COUNT: &str = "a whole number that is not negative";
const COUNTS: &str = "a list of whole numbers that are not negative";
const LEAVES: &str = "a selection of leaves, such as {\"matching\": \"*.weight\"}";

#[cfg(test)]
mod tests {
    use crate::spec::{Catalogue, ChainSpec};

    fn build(text: &str) -> crate::Program {
        let spec: ChainSpec = serde_json::from_str(text).unwrap();
        let chain = Catalogue::standard().build(&spec).unwrap();
        chain.optimizer_program().unwrap()
    }

    #[test]
    fn a_schedule_in_a_specification_counts_in_whole_numbers() {
        let program = build(
            r#"["mean", {"link": "scale_by_learning_rate", "learning_rate":
                {"schedule": "linear_schedule", "init_value": 1, "end_value": 0.5, "transition_steps": 4}}]"#,
        );
        assert_eq!(program.hypers()[0].value.at(2), 0.75);
    }

    #[test]
    fn a_selection_by_rank_in_a_specification_counts_in_whole_numbers() {
        let program = build(
            r#"["mean", {"link": "add_decayed_weights", "weight_decay": 0.1, "mask": {"rank_at_least": 2}}]"#,
        );
        assert_eq!(program.selectors(), [crate::Leaves::RankAtLeast(2)]);
    }
}
