//! What a program under construction finds by name: hyper-parameters, state, inputs and metrics.

use super::graph::index_u32;
use super::{ExtraSlot, Graph, HyperSlot, NodeId, Number, Op, Output, Slot, SlotId};
use crate::axis::AxisKind;
use crate::error::Error;
use crate::extent::ExtentKind;
use crate::hyper::{Domain, Hyper};
use crate::leaves::Leaves;

impl Graph {
    /// `"ema.decay"`.
    pub(crate) fn name_of(&self, field: &str) -> String {
        let link = self.scope.links.last().map_or("chain", String::as_str);
        format!("{link}.{field}")
    }

    /// `"ema.decay"`, and `"ema_2.decay"` for the next one.
    pub(super) fn unique(&self, field: &str, taken: impl Fn(&str) -> bool) -> String {
        let link = self.scope.links.last().map_or("chain", String::as_str);
        let first = self.name_of(field);
        if !taken(&first) {
            return first;
        }
        (2..)
            .map(|n| format!("{link}_{n}.{field}"))
            .find(|name| !taken(name))
            .expect("some number is free")
    }

    pub(crate) fn hyper(&mut self, field: &str, value: &Hyper, domain: Domain) -> NodeId {
        let count = self.count_slot();
        self.hyper_at(field, value, domain, count)
    }

    /// A hyper-parameter that is evaluated at what a slot counts.
    pub(crate) fn hyper_at(
        &mut self,
        field: &str,
        value: &Hyper,
        domain: Domain,
        count: Option<SlotId>,
    ) -> NodeId {
        let hypers = &self.program.hypers;
        let taken = |name: &str| hypers.iter().any(|h| h.name == name);
        let name = match value.name() {
            Some(wanted) => {
                // `rate`, `rate_2`, `rate_3`, ...: the first that is the same hyper-parameter, or free.
                let numbered = (2..).map(|n| format!("{wanted}_{n}"));
                let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
                loop {
                    let name = names.next().expect("some number is free");
                    match hypers.iter().position(|h| h.name == name) {
                        None => break name,
                        Some(at)
                            if hypers[at].value.name() == Some(wanted)
                                && hypers[at].value.same_value(value)
                                && hypers[at].domain == domain
                                && hypers[at].count == count =>
                        {
                            return self.push(Op::Hyper(index_u32(at)));
                        }
                        Some(_) => {}
                    }
                }
            }
            None => self.unique(field, taken),
        };
        if let Err(error) = value.check(&name, domain) {
            self.fail(error);
        }
        self.program.hypers.push(HyperSlot {
            name,
            value: value.clone(),
            domain,
            count,
        });
        let id = index_u32(self.program.hypers.len() - 1);
        self.push(Op::Hyper(id))
    }

    pub(crate) fn slot(&mut self, field: &str, extent: ExtentKind, init: f64) -> (SlotId, NodeId) {
        let extent = self.extent_here(extent);
        let leaves = self.leaves_of_slot(extent);
        let slots = &self.program.slots;
        let name = self.unique(field, |name| slots.iter().any(|s| s.name == name));
        let slot = index_u32(slots.len());
        self.program.slots.push(Slot {
            name,
            extent,
            init: Number(init),
            leaves,
            next: NodeId(u32::MAX),
        });
        let node = self.push(Op::State(slot));
        self.program.slots[slot as usize].next = node;
        self.unset.push((slot, self.link()));
        (slot, node)
    }

    pub(super) fn init_of(&self, slot: SlotId) -> Number {
        self.program.slots[slot as usize].init
    }

    pub(crate) fn set_slot(&mut self, slot: SlotId, next: NodeId) {
        let next = self.kept(slot, next);
        self.program.slots[slot as usize].next = next;
        self.unset.retain(|(unset, _)| *unset != slot);
    }

    pub(crate) fn extra(&mut self, name: &str, axis: AxisKind) -> NodeId {
        let extras = &mut self.program.extras;
        let at = match extras.iter().position(|e| e.name == name) {
            Some(at) => {
                let known = extras[at].axis;
                if known != axis {
                    let name = name.to_owned();
                    let link = self.link();
                    self.fail(Error::ExtraKind { name, link, known });
                }
                at
            }
            None => {
                extras.push(ExtraSlot {
                    name: name.to_owned(),
                    axis,
                });
                extras.len() - 1
            }
        };
        self.push(Op::Extra(index_u32(at)))
    }

    pub(crate) fn selected(&mut self, leaves: &Leaves) -> NodeId {
        let at = self.selector(leaves);
        self.push(Op::Selected(at))
    }

    pub(super) fn selector(&mut self, leaves: &Leaves) -> u32 {
        let selectors = &mut self.program.selectors;
        let at = selectors
            .iter()
            .position(|s| s == leaves)
            .unwrap_or_else(|| {
                selectors.push(leaves.clone());
                selectors.len() - 1
            });
        index_u32(at)
    }

    pub(crate) fn emit(&mut self, field: &str, node: NodeId) {
        let node = self.zero_elsewhere(node);
        let outputs = &self.program.outputs;
        let name = self.unique(field, |name| outputs.iter().any(|o| o.name == name));
        self.program.outputs.push(Output { name, node });
    }
}
