//! The state of an optimizer in the file format of burn's records, burnpack.
//!
//! Each tensor carries the id of its parameter and the path of its leaf. A record of burn brings the ids back with the parameters, so a
//! leaf is found by its id even in a module whose fields have been renamed; a model that was built anew, with other ids, is found by its
//! paths.

use std::collections::BTreeMap;
use std::path::Path;

use burn::module::{Module, ParamId};
use burn::store::RecordError;
use burn::tensor::{Bytes, DType, TensorData};
use burn_pack::{Reader, Scalar, Tensor, Writer};
use pergrad_transforms::program::Number;
use pergrad_transforms::state::SlotState;
use pergrad_transforms::{Axis, State};

use super::Optimizer;
use crate::capture::numbers;
use crate::error::Error;
use crate::model::ModelLeaves;

/// The key of a number of the state as a whole.
const KEY: &str = "pergrad";

/// What an optimizer remembers, as a burn record: [`save`](Self::save) writes burn's file format.
///
/// Tensors are named `"slot/leaf"` (`"slot/"` for a number over all leaves) and carry the id of the parameter. Numbers of the f32 state are written in f32, so the file is as
/// large as the state. [`State`] is the same as serde data, by paths only.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    state: State,
    /// For each leaf its parameter.
    ids: BTreeMap<String, u64>,
}

impl Record {
    /// The state, by paths.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Writes a file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), RecordError> {
        Ok(self.writer().write_to_file(path)?)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Those of the file system, and a file that is no record of an optimizer of pergrad.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, RecordError> {
        Self::read(Reader::from_file(path)?)
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// Those of the format.
    pub fn into_bytes(self) -> Result<Bytes, RecordError> {
        Ok(self.writer().into_bytes()?)
    }

    /// From the contents of a file.
    ///
    /// # Errors
    /// Bytes that are no record of an optimizer of pergrad.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, RecordError> {
        Self::read(Reader::from_bytes(bytes)?)
    }

    fn writer(&self) -> Writer {
        let tensor = |slot: &SlotState| {
            let data = tensor_data(slot.values.clone(), slot.shape.clone());
            let (bytes, shape, dtype) = data.into_parts();
            let leaf = slot.leaf.as_ref();
            let id = leaf.and_then(|leaf| self.ids.get(leaf)).copied();
            let name = format!("{}/{}", slot.name, leaf.map_or("", |leaf| leaf));
            Tensor::new(name, dtype, shape, id, bytes)
        };
        // In one order, so that one state is one file.
        let mut slots: Vec<&SlotState> = self.state.slots.iter().collect();
        slots.sort_by_key(|slot| (&slot.name, &slot.leaf));
        let tensors = slots.into_iter().map(tensor).collect();
        let hypers = serde_json::to_string(&self.state.hypers).expect("numbers and schedules");
        Writer::new(tensors)
            .with_scalar(KEY, Scalar::UInt(u64::from(self.state.version)))
            .with_scalar("step", Scalar::UInt(self.state.step))
            .with_metadata("rule", &self.state.rule)
            .with_metadata("hypers", &hypers)
    }

    fn read(reader: Reader) -> Result<Self, RecordError> {
        let foreign = |what: &str| {
            burn_pack::Error::ValidationError(format!(
                "this is no record of a pergrad optimizer: it has no `{what}`"
            ))
        };
        let number = |key: &str| {
            let number = reader.scalars().get(key);
            let number = number.and_then(|x| u64::try_from(*x).ok());
            number.ok_or_else(|| foreign(key))
        };
        let text = |key: &str| reader.metadata().get(key).ok_or_else(|| foreign(key));
        let version = u32::try_from(number(KEY)?).map_err(|_| foreign(KEY))?;
        let (step, rule) = (number("step")?, text("rule")?.clone());
        let hypers = serde_json::from_str(text("hypers")?).map_err(|_| foreign("hypers"))?;
        let mut ids = BTreeMap::new();
        let mut slots = Vec::new();
        for tensor in reader.into_tensors()? {
            let (name, dtype, shape, id, bytes) = tensor.into_parts()?;
            // The paths of leaves have no slash; the names of links, and so those of slots, may.
            let (name, leaf) = name.rsplit_once('/').ok_or_else(|| foreign("leaf"))?;
            let (name, leaf) = (name.to_owned(), id.map(|_| leaf.to_owned()));
            if let (Some(leaf), Some(id)) = (&leaf, id) {
                ids.insert(leaf.clone(), id);
            }
            let data = TensorData::from_bytes(bytes, shape.clone(), dtype);
            let values = numbers(data).map_err(|_| foreign(&name))?;
            slots.push(SlotState {
                name,
                leaf,
                shape: shape.to_vec(),
                values: values.into_iter().map(Number).collect(),
            });
        }
        let state = State {
            version,
            rule,
            step,
            hypers,
            slots,
        };
        Ok(Self { state, ids })
    }

    /// The state under the paths that the leaves have in a model: those of their ids if it has them, else their own.
    fn state_for(&self, leaves: &ModelLeaves) -> State {
        let paths = leaves.tree.paths();
        let now = |leaf: &String| {
            let id = self.ids.get(leaf).map(|id| ParamId::from(*id));
            let at = id.and_then(|id| leaves.position(id));
            at.map_or_else(|| leaf.clone(), |at| paths[at].clone())
        };
        let mut state = self.state.clone();
        for slot in &mut state.slots {
            slot.leaf = slot.leaf.as_ref().map(now);
        }
        state
    }
}

impl<In: Axis> Optimizer<In> {
    /// What the optimizer remembers, as a burn record. Reads it back from the device.
    ///
    /// # Errors
    /// A model with other leaves than the state belongs to, or a device that cannot be read.
    ///
    /// # Example
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::Device;
    /// use pergrad::Record;
    /// use pergrad::prelude::*;
    ///
    /// let model = LinearConfig::new(3, 1).init(&Device::default().autodiff());
    /// let mut optimizer = pergrad::Optimizer::new(adam(0.1)).unwrap();
    /// let bytes = optimizer.record(&model).unwrap().into_bytes().unwrap();
    /// optimizer.load_record(&model, &Record::from_bytes(bytes).unwrap()).unwrap();
    /// ```
    pub fn record<M: Module>(&mut self, model: &M) -> Result<Record, Error> {
        let state = self.state(model)?;
        let leaves = ModelLeaves::of(model)?;
        let ids = leaves.ids.iter().map(|id| id.val());
        Ok(Record {
            state,
            ids: leaves.tree.paths().into_iter().zip(ids).collect(),
        })
    }

    /// Goes on from a saved record: bit-equal to not having stopped. Load the model's record first, which brings the ids of the
    /// parameters back. See [`load`](Self::load).
    ///
    /// # Errors
    /// A state that belongs to another chain or model; the message lists every difference, and nothing has changed.
    pub fn load_record<M: Module>(&mut self, model: &M, record: &Record) -> Result<(), Error> {
        let leaves = ModelLeaves::of(model)?;
        self.load(model, &record.state_for(&leaves))
    }
}

/// Numbers in f32 if that loses nothing, else in f64.
pub(super) fn tensor_data(values: Vec<Number>, shape: Vec<usize>) -> TensorData {
    #[allow(clippy::cast_possible_truncation)] // asked for
    let narrow = |x: f64| x as f32;
    let exact = |x: &Number| x.0.is_nan() || f64::from(narrow(x.0)) == x.0;
    let dtype = if values.iter().all(exact) {
        DType::F32
    } else {
        DType::F64
    };
    let values: Vec<f64> = values.into_iter().map(|x| x.0).collect();
    TensorData::new(values, shape).convert_dtype(dtype)
}
