//! A bare parameter that adds.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use super::affine::Affine;
use super::channels::Features;
use crate::capture::tape;
use crate::error::Error;

/// `x + bias` over the last axis: for shifts that stand alone in a model.
///
/// # Shapes
/// `bias [F]`; input and output `[B, .., F]`. With F = 1 it is added to an input of any width.
///
/// # Forms
/// `bias` is held as tokens `d [B, T, F]`.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::Bias, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let layer = Bias::new(2, &device);
/// let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let (_, grads) = per_example_grads(&layer, |m| m.forward(x).sum_dim(1).flatten(0, 1)).unwrap();
/// let g = grads.leaf::<2>("bias").unwrap();
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [1.0, 1.0, 1.0, 1.0]);
/// ```
#[derive(Module, Debug)]
pub struct Bias {
    /// `[F]`.
    pub bias: Param<Tensor<1>>,
}

impl Bias {
    /// F zeros.
    pub fn new(features: usize, device: &Device) -> Self {
        Param::from_tensor(Tensor::zeros([features], device)).into()
    }

    /// The forward pass, `[.., F] -> [.., F]`.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        if tape::is_recording() && D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "Bias" });
        } else if tape::is_recording() {
            let affine = Affine {
                scale: None,
                shift: Some(&self.bias),
                features: Features::Last,
            };
            let dtype = x.dtype();
            return affine.record(x, dtype);
        }
        x + Features::Last.spread(self.bias.val())
    }
}

impl From<Param<Tensor<1>>> for Bias {
    fn from(bias: Param<Tensor<1>>) -> Self {
        Self { bias }
    }
}
