//! The state of a [`Leafwise`](super::leafwise::Leafwise) chain for one parameter, running or as burn's records hold it.
//!
//! burn keeps a state as tensors and numbers under names, and makes it anew without asking which chain it is for. So the slots are
//! numbered, the chain is known by a hash of its rule, and what fits is found out at the next step.

use burn::optim::{RecordState, StateSink, StateSource};
use burn::tensor::{Device, TensorData};
use burn_pack::Scalar;
use pergrad_transforms::program::Number;
use pergrad_transforms::state::{SlotState, VERSION};
use pergrad_transforms::{ParamTree, Program, State};

use super::record::tensor_data;
use crate::capture::numbers;
use crate::error::Error;
use crate::exec::engine::Engine;
use crate::fingerprint::fingerprint;

/// What a [`Leafwise`](super::Leafwise) chain remembers of one parameter.
#[derive(Clone, Debug)]
pub struct LeafState(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Running(Box<Engine>),
    Saved(Saved),
}

/// What a record holds of one parameter.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    version: u64,
    rule: u64,
    step: u64,
    /// Nothing where the record has lost it.
    slots: Vec<Option<TensorData>>,
}

impl LeafState {
    pub(super) fn running(engine: Engine) -> Self {
        Self(Kind::Running(Box::new(engine)))
    }

    /// The engine, or what it is to be made of.
    pub(super) fn into_engine(self) -> Result<Engine, Saved> {
        match self.0 {
            Kind::Running(engine) => Ok(*engine),
            Kind::Saved(saved) => Err(saved),
        }
    }
}

impl Saved {
    fn of(engine: &Engine) -> Result<Self, Error> {
        let state = engine.state()?;
        let slot = |slot: SlotState| Some(tensor_data(slot.values, slot.shape));
        Ok(Self {
            version: u64::from(state.version),
            rule: fingerprint(&state.rule),
            step: state.step,
            slots: state.slots.into_iter().map(slot).collect(),
        })
    }

    /// The same under the names that a program has for it.
    ///
    /// # Errors
    /// Another chain, or something missing; the engine checks the rest.
    pub(super) fn state(self, program: &Program, tree: &ParamTree) -> Result<State, Error> {
        let mut differences = Vec::new();
        if self.version == 0 {
            differences
                .push("it is no state of a pergrad chain, or has lost part of it".to_owned());
        } else if self.version != u64::from(VERSION) {
            differences.push(format!(
                "it has layout {}, but this version reads layout {VERSION}",
                self.version
            ));
        } else if self.rule != fingerprint(&program.rule()) {
            differences.push("it belongs to another chain".to_owned());
        }
        let layout = State::layout(program, tree);
        if self.slots.len() != layout.len() {
            differences.push(format!(
                "it has {} tensors, but the chain keeps {}",
                self.slots.len(),
                layout.len()
            ));
        }
        let mut slots = Vec::new();
        for (data, (name, leaf, _)) in self.slots.into_iter().zip(layout) {
            let Some(data) = data else {
                differences.push(format!("`{name}` is missing"));
                continue;
            };
            let shape = data.shape().to_vec();
            let values = numbers(data)?.into_iter().map(Number).collect();
            slots.push(SlotState {
                name,
                leaf,
                shape,
                values,
            });
        }
        if !differences.is_empty() {
            return Err(pergrad_transforms::Error::State { differences }.into());
        }
        let hypers = program.hypers().iter();
        Ok(State {
            version: VERSION,
            rule: program.rule(),
            step: self.step,
            hypers: hypers.map(|h| (h.name.clone(), h.value.clone())).collect(),
            slots,
        })
    }
}

impl RecordState for LeafState {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        let saved = match &self.0 {
            Kind::Saved(saved) => saved.clone(),
            // The trait has no error, and a record without this state would be loaded as none.
            Kind::Running(engine) => Saved::of(engine).unwrap_or_else(|error| panic!("{error}")),
        };
        out.push_scalar(prefix, "version", Scalar::UInt(saved.version));
        out.push_scalar(prefix, "rule", Scalar::UInt(saved.rule));
        out.push_scalar(prefix, "step", Scalar::UInt(saved.step));
        out.push_scalar(prefix, "slots", Scalar::UInt(saved.slots.len() as u64));
        for (at, slot) in saved.slots.into_iter().enumerate() {
            if let Some(slot) = slot {
                out.push_tensor(prefix, &name(at), slot);
            }
        }
    }

    fn state_unflatten(prefix: &str, src: &mut StateSource, _device: &Device) -> Option<Self> {
        // A record that has something for this parameter, but not this: the next step says so. burn would begin anew in silence.
        let mut number = |leaf: &str| {
            let number = src.take_scalar(prefix, leaf);
            number.and_then(|x| u64::try_from(x).ok()).unwrap_or(0)
        };
        let (version, rule) = (number("version"), number("rule"));
        let (step, slots) = (number("step"), number("slots"));
        let slots = (0..slots).map_while(|at| usize::try_from(at).ok());
        let slots = slots.map(|at| src.take_tensor(prefix, &name(at)));
        Some(Self(Kind::Saved(Saved {
            version,
            rule,
            step,
            slots: slots.collect(),
        })))
    }
}

fn name(at: usize) -> String {
    format!("slot{at}")
}
