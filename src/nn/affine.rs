//! `x * scale + shift`, feature by feature: the trained part of every normalization.
//!
//! A normalization runs once, with scale 1 and shift 0, and gives `x`; the scale's gradient is then `sum_t d * x`, the shift's
//! `sum_t d`. Both are as small as the layer's output, so any function of them is cheap.

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor};

use super::channels::Features;
use super::untracked::{trained, untracked};
use crate::capture::tape::{self, Use};
use crate::grads::form::Form;

/// A scale and a shift `[F]`, either of which may be missing.
pub(super) struct Affine<'a> {
    pub(super) scale: Option<&'a Param<Tensor<1>>>,
    pub(super) shift: Option<&'a Param<Tensor<1>>>,
    pub(super) features: Features,
}

impl Affine<'_> {
    /// Records `x * scale + shift`, computed in the dtype of `x` and given back in `dtype`.
    pub(super) fn record<const D: usize>(self, x: Tensor<D>, dtype: DType) -> Tensor<D> {
        let features = self.features;
        let mut uses = Vec::new();
        let mut device: Option<Device> = None;
        let mut z = x.clone();
        if let Some(scale) = self.scale {
            let value = untracked(scale).val().cast(x.dtype());
            z = z * features.spread(value);
        }
        if let Some(shift) = self.shift {
            let value = untracked(shift).val().cast(x.dtype());
            z = z + features.spread(value);
        }
        if let Some(scale) = trained(self.scale) {
            let (x, size) = (x.inner(), scale.dims()[0]);
            device = Some(scale.val().device());
            uses.push(Use::new(scale, move |d: Tensor<D>| {
                // The product is taken in the wider type: a normalized f16 is exact in f32.
                let narrow = d.dtype();
                let g = d.cast(x.dtype()) * x;
                Form::Tokens(fit(features.by_token(g.cast(narrow)), size))
            }));
        }
        if let Some(shift) = trained(self.shift) {
            let size = shift.dims()[0];
            device = Some(shift.val().device());
            uses.push(Use::new(shift, move |d: Tensor<D>| {
                Form::Tokens(fit(features.by_token(d), size))
            }));
        }
        let z = z.cast(dtype);
        match device {
            Some(device) => tape::record(z, device, uses),
            None => z,
        }
    }
}

/// `[B, T, F]` for a parameter of F elements, `[B, T, 1]` for a parameter of one element that was spread over all of them.
fn fit(tokens: Tensor<3>, size: usize) -> Tensor<3> {
    if size == 1 && tokens.dims()[2] != 1 {
        tokens.sum_dim(2)
    } else {
        tokens
    }
}
