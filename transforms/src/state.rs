//! What an optimizer remembers between steps, as data that can be saved and restored.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::extent::ExtentKind;
use crate::hyper::Hyper;
use crate::program::{Number, Program};
use crate::tree::ParamTree;

/// The layout of [`State`] that this version writes.
pub const VERSION: u32 = 1;

/// The state of a program over the leaves of a model. Plain serde data; restoring it is bit-equal to not having stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The layout.
    pub version: u32,
    /// [`Program::rule`] of the program it belongs to.
    pub rule: String,
    /// How many steps have been taken.
    pub step: u64,
    /// The hyper-parameters by name, as they are now.
    pub hypers: Vec<(String, Hyper)>,
    /// The contents of the slots.
    pub slots: Vec<SlotState>,
}

/// The contents of one state slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotState {
    /// The name of the slot.
    pub name: String,
    /// The path of the leaf, or nothing for a number over all leaves.
    pub leaf: Option<String>,
    /// The shape: that of the leaf, or `[]` for a number.
    pub shape: Vec<usize>,
    /// The elements, row-major. Those of f32 state are exact.
    pub values: Vec<Number>,
}

impl State {
    /// The places a program has for state over a tree: the name of the slot, the leaf and the shape. A leaf that a slot does not
    /// have is no place.
    pub fn layout(
        program: &Program,
        tree: &ParamTree,
    ) -> Vec<(String, Option<String>, Vec<usize>)> {
        let mut places = Vec::new();
        // A program whose selections do not fit is never bound to the tree, so it has no state there.
        let selected = program.select(tree).unwrap_or_default();
        for slot in program.slots() {
            if slot.extent == ExtentKind::Global {
                places.push((slot.name.clone(), None, vec![]));
                continue;
            }
            for (at, leaf) in tree.leaves().iter().enumerate() {
                let selected = slot.leaves.and_then(|s| selected.get(s as usize));
                if selected.is_some_and(|selected| !selected[at]) {
                    continue;
                }
                let shape = match slot.extent {
                    ExtentKind::Leaf => leaf.shape.clone(),
                    _ => vec![],
                };
                places.push((slot.name.clone(), Some(leaf.path.clone()), shape));
            }
        }
        places
    }

    /// Checks that the state belongs to this program and these leaves.
    ///
    /// # Errors
    /// [`Error::State`] with every difference.
    pub fn check(&self, program: &Program, tree: &ParamTree) -> Result<(), Error> {
        let mut differences = Vec::new();
        if self.version != VERSION {
            differences.push(format!(
                "it has layout {}, but this version reads layout {VERSION}",
                self.version
            ));
        }
        let rule = program.rule();
        if self.rule != rule {
            differences.push(format!(
                "it belongs to another chain: {}",
                first_difference(&self.rule, &rule)
            ));
        }
        let expected: Vec<_> = program.hypers().iter().map(|h| &h.name).collect();
        let found: Vec<_> = self.hypers.iter().map(|(name, _)| name).collect();
        if expected != found {
            differences.push(format!(
                "its hyper-parameters are {found:?}, but the chain has {expected:?}"
            ));
        }
        for (name, hyper) in &self.hypers {
            let slot = program.hypers().iter().find(|slot| slot.name == *name);
            if let Some(slot) = slot
                && let Err(error) = hyper.check(name, slot.domain)
            {
                differences.push(error.to_string());
            }
        }
        let layout = Self::layout(program, tree);
        let describe = |name: &str, leaf: &Option<String>| match leaf {
            Some(leaf) => format!("`{name}` of leaf `{leaf}`"),
            None => format!("`{name}`"),
        };
        for (name, leaf, shape) in &layout {
            let place = describe(name, leaf);
            match self
                .slots
                .iter()
                .find(|s| s.name == *name && s.leaf == *leaf)
            {
                None => differences.push(format!("{place} is missing")),
                Some(slot) if slot.shape != *shape => differences.push(format!(
                    "{place} has the shape {:?}, but {shape:?} is needed",
                    slot.shape
                )),
                Some(slot) if slot.values.len() != shape.iter().product::<usize>() => {
                    differences.push(format!(
                        "{place} has {} values for the shape {shape:?}",
                        slot.values.len()
                    ));
                }
                Some(_) => {}
            }
        }
        for (at, slot) in self.slots.iter().enumerate() {
            let place = describe(&slot.name, &slot.leaf);
            let same = |s: &SlotState| s.name == slot.name && s.leaf == slot.leaf;
            if self.slots[..at].iter().any(same) {
                differences.push(format!("{place} is there twice"));
            } else if !layout
                .iter()
                .any(|(name, leaf, _)| slot.name == *name && slot.leaf == *leaf)
            {
                differences.push(format!("{place} is extra"));
            }
        }
        if differences.is_empty() {
            Ok(())
        } else {
            Err(Error::State { differences })
        }
    }

    /// The contents of a slot for a leaf.
    pub fn get(&self, name: &str, leaf: Option<&str>) -> Option<&SlotState> {
        self.slots
            .iter()
            .find(|s| s.name == name && s.leaf.as_deref() == leaf)
    }
}

/// The first line in which two rules differ, as text.
fn first_difference(theirs: &str, ours: &str) -> String {
    let (mut theirs, mut ours) = (theirs.lines(), ours.lines());
    loop {
        return match (theirs.next(), ours.next()) {
            (Some(a), Some(b)) if a == b => continue,
            (Some(a), Some(b)) => format!("the state has `{a}`, this chain has `{b}`"),
            (Some(a), None) => format!("the state has `{a}`, where this chain ends"),
            (None, Some(b)) => format!("the state ends, where this chain has `{b}`"),
            (None, None) => "the lines of its rule end in another way".to_owned(),
        };
    }
}
