//! Programs that stay inside a leaf: what they give of a leaf depends on no other leaf, and not on where in the model it stands.

use super::{Op, Program};
use crate::error::Error;

impl Program {
    /// Checks that each leaf may be stepped by itself, as optimizers do that see one parameter at a time. Selections by shape are
    /// answered by the leaf alone, so they are allowed; counters are kept once for each leaf. Metrics count too: a chain is refused
    /// for a metric over all leaves, even if its updates do not read it, since no leaf could give it.
    ///
    /// # Errors
    /// [`Error::AcrossLeaves`], naming the link, for a value over all leaves (such as a global norm), a selection of leaves by
    /// their paths, random numbers (each leaf needs other ones), or a named input.
    ///
    /// # Example
    /// ```
    /// use pergrad_transforms::prelude::*;
    /// use pergrad_transforms::{Aggregated, program_over};
    /// let adam = program_over::<Aggregated, _>(&adam(1e-3)).unwrap();
    /// assert!(adam.check_leafwise().is_ok());
    /// let clipped = program_over::<Aggregated, _>(&chain((clip_by_global_norm(1.0), scale(-0.1)))).unwrap();
    /// let error = clipped.check_leafwise().unwrap_err().to_string();
    /// assert!(error.starts_with("`clip_by_global_norm` reads all leaves together"));
    /// ```
    pub fn check_leafwise(&self) -> Result<(), Error> {
        for (at, node) in self.nodes().iter().enumerate() {
            let what = match node.op {
                Op::OverLeaves(..) => "reads all leaves together".to_owned(),
                Op::Selected(selector) => {
                    let leaves = &self.selectors()[selector as usize];
                    if leaves.is_by_shape() {
                        continue;
                    }
                    format!("selects leaves by their paths ({leaves})")
                }
                Op::Normal(_) => "draws random numbers, other ones for each leaf".to_owned(),
                Op::Extra(extra) => {
                    let name = &self.extras()[extra as usize].name;
                    format!("reads the named input `{name}`")
                }
                _ => continue,
            };
            let link = self.links()[self.nodes()[at].link as usize].clone();
            return Err(Error::AcrossLeaves { link, what });
        }
        let by_path = self.slots().iter().find_map(|slot| {
            let leaves = &self.selectors()[slot.leaves? as usize];
            (!leaves.is_by_shape()).then_some((slot, leaves))
        });
        if let Some((slot, leaves)) = by_path {
            return Err(Error::AcrossLeaves {
                link: slot.name.clone(),
                what: format!("is kept for leaves selected by their paths ({leaves})"),
            });
        }
        Ok(())
    }
}
