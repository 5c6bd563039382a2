//! Named inputs of a step.

use std::collections::BTreeMap;

use burn::tensor::Tensor;
use pergrad_transforms::program::ExtraSlot;
use pergrad_transforms::{AxisKind, Error as ChainError};

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

    /// The inputs in the order of the program, as `[B, 1]` or `[1, 1]` on the device of the model.
    pub(crate) fn matrices(
        &self,
        known: &[ExtraSlot],
        examples: usize,
        params: &[Tensor<2>],
    ) -> Result<Vec<Tensor<2>>, Error> {
        check_extras(known, self.numbers.keys().chain(self.per_example.keys()))?;
        let device = params[0].device();
        let extras = known.iter().map(|extra| {
            let name = &extra.name;
            match (extra.axis, self.per_example.get(name)) {
                (AxisKind::PerExample, Some(values)) if values.dims()[0] == examples => {
                    Ok(values.clone().to_device(&device).reshape([examples, 1]))
                }
                (axis, values) => match (axis, self.numbers.get(name)) {
                    (AxisKind::Aggregated, Some(&x)) => {
                        Ok(Tensor::full([1, 1], x, (&device, burn::tensor::DType::F64)))
                    }
                    _ => Err(Error::Chain(ChainError::ExtraLength {
                        name: name.clone(),
                        expected: if axis == AxisKind::PerExample {
                            examples
                        } else {
                            1
                        },
                        got: values.map_or(1, |values| values.dims()[0]),
                    })),
                },
            }
        });
        extras.collect()
    }
}

/// Every known input is given, and no other.
pub(crate) fn check_extras<'a>(
    known: &[ExtraSlot],
    given: impl Iterator<Item = &'a String>,
) -> Result<(), Error> {
    let given: Vec<&String> = given.collect();
    if let Some(extra) = known.iter().find(|extra| !given.contains(&&extra.name)) {
        let name = extra.name.clone();
        return Err(ChainError::MissingExtra { name }.into());
    }
    if let Some(name) = given
        .into_iter()
        .find(|name| !known.iter().any(|extra| extra.name == **name))
    {
        return Err(ChainError::UnknownExtra {
            name: name.clone(),
            known: known.iter().map(|extra| extra.name.clone()).collect(),
        }
        .into());
    }
    Ok(())
}
