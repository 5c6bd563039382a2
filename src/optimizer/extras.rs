//! Named inputs of a step.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Tensor};
use pergrad_transforms::Program;

use crate::error::Error;
use crate::model::reshape;

/// Named inputs that a chain reads at each step: numbers such as the loss, and one number for each example such as weights. Those that no
/// link reads are ignored, so that chains with and without an input may change places; one that is missing is an error.
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
    values: BTreeMap<String, Extra>,
}

#[derive(Clone, Debug)]
enum Extra {
    Number(f64),
    PerExample(Box<Tensor<1>>),
}

impl Extras {
    /// No inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// A number. It replaces an input of the same name.
    #[must_use]
    pub fn number(mut self, name: impl Into<String>, value: f64) -> Self {
        self.values.insert(name.into(), Extra::Number(value));
        self
    }

    /// One number for each example, `[B]`. It replaces an input of the same name.
    #[must_use]
    pub fn per_example(mut self, name: impl Into<String>, values: Tensor<1>) -> Self {
        let values = Extra::PerExample(Box::new(values.inner()));
        self.values.insert(name.into(), values);
        self
    }

    /// The inputs in the order of the program, as `[B, 1]` or `[1, 1]` on a device.
    pub(crate) fn matrices(
        &self,
        program: &Program,
        examples: usize,
        device: &Device,
    ) -> Result<Vec<Tensor<2>>, Error> {
        let given = self.values.iter().map(|(name, value)| {
            let length = match value {
                Extra::Number(_) => 1,
                Extra::PerExample(values) => values.dims()[0],
            };
            (name.as_str(), length)
        });
        program.check_extras(examples, given)?;
        let extras = program
            .extras()
            .iter()
            .map(|extra| match &self.values[&extra.name] {
                Extra::Number(x) => Tensor::full([1, 1], *x, (device, DType::F64)),
                Extra::PerExample(values) => {
                    let length = values.dims()[0];
                    reshape((**values).clone().to_device(device), [length, 1])
                }
            });
        Ok(extras.collect())
    }
}
