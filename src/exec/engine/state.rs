//! What an engine remembers: tensors for each slot on the device, and what the host keeps.

use burn::tensor::{DType, Device};
use pergrad_transforms::program::{HostScalars, Number, Slot};
use pergrad_transforms::state::{SlotState, VERSION};
use pergrad_transforms::{ExtentKind, ParamTree, Program, State};

use super::super::ops::Matrix;
use super::{Bound, Engine, matrix};
use crate::capture::numbers;
use crate::error::Error;
use crate::model::full;
use crate::plan::has_slot;

/// What the slots of the host hold before the first step.
pub(super) fn initial_counts(program: &Program) -> Vec<Option<f64>> {
    let slots = program.slots().iter().zip(program.host_slots());
    let slots = slots.map(|(slot, of_host)| of_host.then_some(slot.init.0));
    slots.collect()
}

impl Engine {
    /// The state of the same leaves in another order, dtype or place.
    pub(super) fn moved_slots(
        &self,
        bound: Bound,
        tree: &ParamTree,
        selected: &[Vec<bool>],
        dtype: DType,
        device: &Device,
    ) -> Vec<Vec<Matrix>> {
        let moved = |slot: &Matrix| slot.clone().to_device(device).cast(dtype);
        let slots = self.program.slots().iter().zip(&bound.slots);
        let slots = slots.map(|(slot, contents)| match slot.extent {
            ExtentKind::Global => contents.iter().map(moved).collect(),
            _ => {
                let leaves = tree.leaves().iter().enumerate();
                let leaves = leaves.map(|(at, leaf)| {
                    if !has_slot(slot, selected, at) {
                        return full(slot.init.0, [1, 1], device, dtype);
                    }
                    let old = bound.tree.position(&leaf.path).expect("checked");
                    moved(&contents[old])
                });
                leaves.collect()
            }
        });
        slots.collect()
    }

    /// A leaf that does not have a slot has one number in its place.
    pub(super) fn initial_slots(
        &self,
        sizes: &[usize],
        selected: &[Vec<bool>],
        dtype: DType,
        device: &Device,
    ) -> Vec<Vec<Matrix>> {
        let slots = self.program.slots().iter().zip(&self.counts);
        let slots = slots.map(|(slot, count)| {
            let leaf = |(at, &size): (usize, &usize)| {
                let whole = slot.extent == ExtentKind::Leaf && has_slot(slot, selected, at);
                let columns = if whole { size } else { 1 };
                full(slot.init.0, [1, columns], device, dtype)
            };
            match slot.extent {
                _ if count.is_some() => Vec::new(),
                ExtentKind::Leaf | ExtentKind::PerLeaf => {
                    sizes.iter().enumerate().map(leaf).collect()
                }
                ExtentKind::Global => vec![full(slot.init.0, [1, 1], device, dtype)],
                ExtentKind::Pairs | ExtentKind::LeafPairs => {
                    unreachable!("programs are checked: pairs of examples are no state")
                }
            }
        });
        slots.collect()
    }

    /// What the host knows of the slots before a step: its own, and those that a schedule counts its steps by, which are read back.
    pub(super) fn known_slots(&self) -> Result<Vec<Option<f64>>, Error> {
        let mut known = self.counts.clone();
        let bound = self.bound.as_ref().expect("bound before");
        for at in self.program.slots_to_read(&self.hypers) {
            let values = numbers(bound.slots[at as usize][0].to_data())?;
            known[at as usize] = values.first().copied();
        }
        Ok(known)
    }

    /// The slots of the host after a step of a program, which has them first.
    pub(super) fn next_counts(&self, program: &Program, host: &HostScalars) -> Vec<Option<f64>> {
        let slots = program.slots().iter().zip(&self.counts);
        let next = slots.map(|(slot, count)| count.and_then(|_| host.get(slot.next, 0)));
        next.collect()
    }

    /// What it remembers. Reads the state back from the device.
    pub(crate) fn state(&self) -> Result<State, Error> {
        let bound = self.bound.as_ref().expect("bound before");
        let mut slots = Vec::new();
        let contents = bound.slots.iter().zip(&self.counts);
        for (slot, (contents, count)) in self.program.slots().iter().zip(contents) {
            if let Some(count) = count {
                slots.push(SlotState {
                    name: slot.name.clone(),
                    leaf: None,
                    shape: Vec::new(),
                    values: vec![Number(*count)],
                });
            }
            for (leaf, values) in places(slot, bound, contents) {
                let shape = leaf.filter(|_| slot.extent == ExtentKind::Leaf);
                let shape = shape.map(|at| bound.tree.leaves()[at].shape.clone());
                slots.push(SlotState {
                    name: slot.name.clone(),
                    leaf: leaf.map(|at| bound.tree.leaves()[at].path.clone()),
                    shape: shape.unwrap_or_default(),
                    values: numbers(values.to_data())?.into_iter().map(Number).collect(),
                });
            }
        }
        let names = self.program.hypers().iter().map(|h| h.name.clone());
        Ok(State {
            version: VERSION,
            rule: self.program.rule(),
            step: self.step,
            hypers: names.zip(self.hypers.iter().cloned()).collect(),
            slots,
        })
    }

    /// Goes on from a saved state of the bound leaves; an error changes nothing.
    pub(crate) fn load(&mut self, state: &State) -> Result<(), Error> {
        let bound = self.bound.as_mut().expect("bound before");
        state.check(&self.program, &bound.tree)?;
        let saved = |slot: &Slot, leaf: Option<&str>| {
            let saved = state.get(&slot.name, leaf).expect("checked");
            saved.values.iter().map(|x| x.0).collect::<Vec<f64>>()
        };
        for (at, slot) in self.program.slots().iter().enumerate() {
            if let Some(count) = &mut self.counts[at] {
                *count = saved(slot, None)[0];
            }
            let contents = bound.slots[at].clone();
            for (leaf, values) in places(slot, bound, &contents) {
                let path = leaf.map(|at| bound.tree.leaves()[at].path.as_str());
                let values = matrix(saved(slot, path), values.dims(), bound.dtype, &bound.device);
                bound.slots[at][leaf.unwrap_or(0)] = values;
            }
        }
        self.hypers = state.hypers.iter().map(|(_, h)| h.clone()).collect();
        self.step = state.step;
        Ok(())
    }
}

/// The places of a slot that are there, with what they hold: leaves by their position, or nothing for all of them.
fn places<'a>(
    slot: &Slot,
    bound: &Bound,
    contents: &'a [Matrix],
) -> Vec<(Option<usize>, &'a Matrix)> {
    let places = contents.iter().enumerate();
    let places = places.filter(|(at, _)| {
        slot.extent == ExtentKind::Global || has_slot(slot, &bound.selected, *at)
    });
    let leaf = |at: usize| (slot.extent != ExtentKind::Global).then_some(at);
    places.map(|(at, values)| (leaf(at), values)).collect()
}
