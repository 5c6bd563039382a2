//! Every legal position of a link in a chain.

use super::{Catalogue, ChainSpec, LinkSpec};
use crate::axis::AxisKind;
use crate::error::Error;

/// A chain with a link at one of its legal positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// How many links stand before it.
    pub position: usize,
    /// The whole chain.
    pub chain: ChainSpec,
}

/// Lists every legal position of `link` in `chain`: those where the whole is an optimizer for per-example gradients.
///
/// # Errors
/// A link that cannot be built. An order that has no meaning is not an error, but no placement.
///
/// # Example
/// ```
/// use pergrad_transforms::spec::{Catalogue, ChainSpec, LinkSpec, placements};
/// let rest: ChainSpec = serde_json::from_str(r#"["mean", {"link": "ema", "decay": 0.9}]"#).unwrap();
/// let found = placements(&LinkSpec::new("sign"), &rest, &Catalogue::standard()).unwrap();
/// let texts: Vec<_> = found.iter().map(|p| p.chain.to_string()).collect();
/// assert_eq!(texts, [
///     "sign() -> mean() -> ema(decay=0.9)",
///     "mean() -> sign() -> ema(decay=0.9)",
///     "mean() -> ema(decay=0.9) -> sign()",
/// ]);
/// ```
pub fn placements(
    link: &LinkSpec,
    chain: &ChainSpec,
    catalogue: &Catalogue,
) -> Result<Vec<Placement>, Error> {
    catalogue.link(link)?;
    let mut found = Vec::new();
    for position in 0..=chain.links.len() {
        let mut links = chain.links.clone();
        links.insert(position, link.clone());
        let chain = ChainSpec { links };
        match catalogue.build(&chain)?.out(AxisKind::PerExample) {
            Ok(AxisKind::Aggregated) => found.push(Placement { position, chain }),
            Ok(AxisKind::PerExample) | Err(Error::Order { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
