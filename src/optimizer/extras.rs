//! Named inputs of a step.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Tensor};
use pergrad_transforms::Program;

use crate::error::Error;

/// Named inputs that a chain reads at each step: numbers such as the loss, and one number for each example such as weights.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pergrad::Extras;
/// let weights = Tensor::<1>::from_floats([1.0, 0.5], &Device::default());
/// let extras = Extras::new().per_example("importance", weights).number("loss", 0.3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Extras {
    numbers: BTreeMap<String, f64>,
    per_example: BTreeMap<String, Tensor<1>>,
}

impl Extras {
    /// No inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// A number.
    #[must_use]
    pub fn number(mut self, name: impl Into<String>, value: f64) -> Self {
        self.numbers.insert(name.into(), value);
        self
    }

    /// One number for each example, `[B]`.
    #[must_use]
    pub fn per_example(mut self, name: impl Into<String>, values: Tensor<1>) -> Self {
        self.per_example.insert(name.into(), values.inner());
        self
    }

    /// The inputs in the order of the program, as `[B, 1]` or `[1, 1]` on a device.
    pub(crate) fn matrices(
        &self,
        program: &Program,
        examples: usize,
        device: &Device,
    ) -> Result<Vec<Tensor<2>>, Error> {
        let numbers = self.numbers.keys().map(|name| (name.as_str(), 1));
        let tensors = self.per_example.iter();
        let tensors = tensors.map(|(name, values)| (name.as_str(), values.dims()[0]));
        program.check_extras(examples, numbers.chain(tensors))?;
        let extras = program
            .extras()
            .iter()
            .map(|extra| match self.per_example.get(&extra.name) {
                Some(values) => {
                    let length = values.dims()[0];
                    values.clone().to_device(device).reshape([length, 1])
                }
                None => Tensor::full([1, 1], self.numbers[&extra.name], (device, DType::F64)),
            });
        Ok(extras.collect())
    }
}
