//! Arguments that are links themselves.

use super::{ArgumentValue, Arguments, ChainSpec, DynChain, DynLinks, DynStatistic, LinkSpec};
use crate::axis::Aggregated;
use crate::error::Error;
use crate::leaves::Leaves;

const LINKS: &str = "a list of links";
const AGGREGATED: &str = "links that take aggregated gradients and give such, as after a `mean`";
/// What links must be that may be passed by.
pub(crate) const KEEPING: &str =
    "links that give what they take: the examples apart, or aggregated gradients";
/// What links must be in any case.
pub(crate) const ORDERED: &str = "links whose order has a meaning";

impl Arguments<'_> {
    /// A chain of links from per-example gradients to a statistic in the shape of the parameters.
    ///
    /// # Errors
    /// If it is missing, of another kind, or not such a chain.
    pub fn statistic(&mut self, name: &'static str) -> Result<DynStatistic, Error> {
        let value = self.get(name).ok_or_else(|| self.missing(name, LINKS))?;
        let spec = self.chain_spec(name, value)?;
        match DynStatistic::new(self.catalogue.build(&spec)?) {
            Err(Error::EndsPerExample) => Err(Error::ArgumentKind {
                link: self.link.to_owned(),
                argument: name.to_owned(),
                expected: "links that end with a reduction over examples such as `mean`",
                got: spec.to_string(),
            }),
            statistic => statistic,
        }
    }

    /// The same, or nothing.
    ///
    /// # Errors
    /// If it is of another kind, or not such a chain.
    pub fn optional_statistic(
        &mut self,
        name: &'static str,
    ) -> Result<Option<DynStatistic>, Error> {
        let given = self.get(name).is_some();
        given.then(|| self.statistic(name)).transpose()
    }

    /// A chain of links that must be given, whatever it takes.
    ///
    /// # Errors
    /// If it is missing, of another kind, or has a link that cannot be built.
    pub fn links(&mut self, name: &'static str) -> Result<DynChain, Error> {
        let value = self.get(name).ok_or_else(|| self.missing(name, LINKS))?;
        self.catalogue.build(&self.chain_spec(name, value)?)
    }

    fn chain_spec(&self, name: &str, value: &ArgumentValue) -> Result<ChainSpec, Error> {
        match value {
            ArgumentValue::Text(link) => Ok(ChainSpec::from_iter([LinkSpec::new(link)])),
            ArgumentValue::Table(table) if table.contains_key("link") => {
                let link: LinkSpec = self.data(name, value, LINKS)?;
                Ok(ChainSpec::from_iter([link]))
            }
            value => self.data(name, value, LINKS),
        }
    }

    /// A chain of links over aggregated gradients.
    ///
    /// # Errors
    /// If it is missing, of another kind, or not such a chain.
    pub fn aggregated_links(
        &mut self,
        name: &'static str,
    ) -> Result<DynLinks<Aggregated, Aggregated>, Error> {
        let chain = self.links(name)?;
        DynLinks::new(&chain).ok_or_else(|| self.unfit(name, AGGREGATED))
    }

    /// The error about links that are not what they must be.
    pub(crate) fn unfit(&self, name: &str, expected: &'static str) -> Error {
        let value = self.values.get(name);
        let links = value.and_then(|value| self.chain_spec(name, value).ok());
        let links = links.filter(|links| !links.links.is_empty());
        let got = links.map(|links| links.to_string());
        Error::ArgumentKind {
            link: self.link.to_owned(),
            argument: name.to_owned(),
            expected,
            got: got
                .or_else(|| value.map(ToString::to_string))
                .unwrap_or_default(),
        }
    }

    /// Parts of a model with the links for each: a list of tables with `leaves` and `links`.
    ///
    /// # Errors
    /// If it is missing, of another kind, or has a link that cannot be built.
    pub(crate) fn parts(&mut self, name: &'static str) -> Result<Vec<(Leaves, DynChain)>, Error> {
        const PARTS: &str = "a list of tables with `leaves` and `links`";
        let value = self.get(name).ok_or_else(|| self.missing(name, PARTS))?;
        let ArgumentValue::List(parts) = value else {
            return Err(self.wrong(name, PARTS, value));
        };
        let part = |part: &ArgumentValue| {
            let ArgumentValue::Table(table) = part else {
                return Err(self.wrong(name, PARTS, part));
            };
            match (table.get("leaves"), table.get("links"), table.len()) {
                (Some(leaves), Some(links), 2) => {
                    let links = self.chain_spec(name, links)?;
                    Ok((self.selection(name, leaves)?, self.catalogue.build(&links)?))
                }
                _ => Err(self.wrong(name, PARTS, part)),
            }
        };
        parts.iter().map(part).collect()
    }
}
