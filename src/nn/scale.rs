//! A bare parameter that multiplies.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use super::affine::Affine;
use super::channels::Features;
use crate::capture::tape;
use crate::error::Error;

/// `x * weight` over the last axis: for scales that stand alone in a model (layer scale, temperatures, gates).
///
/// # Shapes
/// `weight [F]`; input and output `[B, .., F]`. With F = 1 it multiplies an input of any width.
///
/// # Forms
/// `weight` is held as tokens `d * x [B, T, F]`.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::Scale, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let layer = Scale::new(2, &device);
/// let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let (_, grads) = per_example_grads(&layer, |m| m.forward(x).sum_dim(1).flatten(0, 1)).unwrap();
/// let g = grads.leaf::<2>("weight").unwrap();
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
/// ```
#[derive(Module, Debug)]
pub struct Scale {
    /// `[F]`.
    pub weight: Param<Tensor<1>>,
}

impl Scale {
    /// F ones.
    pub fn new(features: usize, device: &Device) -> Self {
        Param::from_tensor(Tensor::ones([features], device)).into()
    }

    /// The forward pass, `[.., F] -> [.., F]`.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        if tape::is_recording() && D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "Scale" });
        } else if tape::is_recording() {
            let affine = Affine {
                scale: Some(&self.weight),
                shift: None,
                features: Features::Last,
            };
            let dtype = x.dtype();
            return affine.record(x, dtype);
        }
        x * Features::Last.spread(self.weight.val())
    }
}

impl From<Param<Tensor<1>>> for Scale {
    fn from(weight: Param<Tensor<1>>) -> Self {
        Self { weight }
    }
}
