//! The parametric rectifier.

use burn::module::{Module, Param};
use burn::nn::{self, PReluConfig};
use burn::tensor::{Device, Tensor};

use super::channels::Features;
use super::untracked::{trained, untracked};
use crate::capture::tape::{self, Use, by_token};
use crate::error::Error;
use crate::grads::form::Form;

/// `x` where it is at least 0, `alpha x` elsewhere, as [`burn::nn::PRelu`].
///
/// # Shapes
/// `alpha [1]` or `alpha [C]`; input and output `[B, ..]`, or `[B, C, ..]` with an alpha for each channel.
///
/// # Forms
/// `alpha` is held as tokens: `d x` where x is negative, 0 elsewhere, `[B, T, C]`.
///
/// # Edge cases
/// | case | what happens |
/// |--|--|
/// | x = 0 or NaN | passed through, as in burn: `alpha` gets gradient zero |
///
/// # Example
/// ```
/// use burn::nn::PReluConfig;
/// use burn::tensor::{Device, Tensor};
/// use pergrad::{nn::PRelu, per_example_grads};
///
/// let device = Device::default().autodiff();
/// let layer = PRelu::new(&PReluConfig::new(), &device);
/// let x = Tensor::<2>::from_floats([[-3.0, 1.0], [0.0, -2.0]], &device);
/// let (_, grads) = per_example_grads(&layer, |m| m.forward(x).sum_dim(1).flatten(0, 1)).unwrap();
/// let g = grads.leaf::<2>("alpha").unwrap();
/// assert_eq!(g.into_data().try_to_vec::<f32>().unwrap(), [-3.0, -2.0]);
/// ```
#[derive(Module, Debug)]
pub struct PRelu {
    /// `[1]` or `[C]`.
    pub alpha: Param<Tensor<1>>,
    /// What `alpha` started from.
    pub alpha_value: f64,
}

impl PRelu {
    /// A layer of burn's configuration.
    pub fn new(config: &PReluConfig, device: &Device) -> Self {
        config.init(device).into()
    }

    /// The forward pass, `[B, ..] -> [B, ..]`.
    ///
    /// # Panics
    /// If there is neither one alpha nor one for each channel, as burn's layer does.
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let mut layer = nn::PRelu::from(self.clone());
        if !tape::is_recording() {
            return layer.forward(input);
        }
        if D < 2 {
            tape::fail(Error::NoBatchAxis { layer: "PRelu" });
            return layer.forward(input);
        }
        layer.alpha = untracked(&self.alpha);
        let z = layer.forward(input.clone());
        let Some(alpha) = trained(Some(&self.alpha)) else {
            return z;
        };
        let (x, size) = (input.inner(), alpha.dims()[0]);
        let tokens = Use::new(alpha, move |d: Tensor<D>| {
            let positive = x.clone().lower_elem(0.0).bool_not();
            let g = (d * x).mask_fill(positive, 0.0);
            Form::Tokens(if size == 1 {
                by_token(g).sum_dim(2)
            } else {
                Features::Second.by_token(g)
            })
        });
        tape::record(z, alpha.val().device(), vec![tokens])
    }
}

same_fields!(nn::PRelu, PRelu { alpha, alpha_value });
