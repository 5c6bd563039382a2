//! The state of an optimizer: taking it out, and going on from it.

use burn::module::Module;
use pergrad_transforms::{Axis, State};

use super::Optimizer;
use crate::error::Error;
use crate::model::ModelLeaves;

impl<In: Axis> Optimizer<In> {
    /// What the optimizer remembers, as serde data. Reads it back from the device.
    ///
    /// # Errors
    /// A model with other leaves than the state belongs to, or a device that cannot be read.
    ///
    /// # Example
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::Device;
    /// use pergrad::prelude::*;
    ///
    /// let model = LinearConfig::new(3, 1).init(&Device::default().autodiff());
    /// let mut optimizer = pergrad::Optimizer::new(adam(0.1)).unwrap();
    /// let text = serde_json::to_string(&optimizer.state(&model).unwrap()).unwrap();
    /// let state = serde_json::from_str(&text).unwrap();
    /// optimizer.load(&model, &state).unwrap();
    ///
    /// let mut other = pergrad::Optimizer::new(sign_ema(0.1)).unwrap();
    /// assert!(other.load(&model, &state).unwrap_err().to_string().starts_with("the state does not fit"));
    /// ```
    pub fn state<M: Module>(&mut self, model: &M) -> Result<State, Error> {
        self.bind(model, &ModelLeaves::of(model)?)?;
        self.engine.state()
    }

    /// Goes on from a saved state: bit-equal to not having stopped. The hyper-parameters are part of the state, so those of the chain this
    /// optimizer was made of are replaced; set them afterwards to go on with others. Load the model's record first.
    ///
    /// # Errors
    /// A state that belongs to another chain or model; the message lists every difference, and nothing has changed.
    pub fn load<M: Module>(&mut self, model: &M, state: &State) -> Result<(), Error> {
        let leaves = ModelLeaves::of(model)?;
        let interrupted = self.engine.forget_interrupted();
        let loaded = match self.bind(model, &leaves) {
            Ok(_) => self.engine.load(state),
            Err(error) => Err(error),
        };
        if let Err(error) = loaded {
            self.engine.set_interrupted(interrupted);
            return Err(error);
        }
        self.metrics.clear();
        Ok(())
    }
}
