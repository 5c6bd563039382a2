//! `x * scale + shift`, feature by feature: the trained part of every normalization.
//!
//! A normalization runs once, with scale 1 and shift 0, and gives `x`; the scale's gradient is then `sum_t d * x`, the shift's
//! `sum_t d`. Both come out of the backward operation that computes the gradient of `x` (arXiv 2411.00999), one vector for each
//! example, so any function of them is cheap. Where tokens are to be kept apart, they are one vector for each token.

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor};

use super::channels::{Features, flat};
use super::untracked::{trained, untracked};
use crate::capture::tape::{self, Use, by_token};
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
        let any_trained = trained(self.scale).is_some() || trained(self.shift).is_some();
        // A value that is computed from a leaf stays tracked, so that the leaf is noticed and refused.
        let tracked = |p: &Param<Tensor<1>>| untracked(p).val().is_tracked();
        let computed = self.scale.is_some_and(tracked) || self.shift.is_some_and(tracked);
        let spread = self.scale.is_some_and(|scale| scale.dims()[0] == 1);
        let empty = x.dims().contains(&0);
        let scale = self.scale.filter(|_| !computed && !spread && !empty);
        match scale {
            Some(scale) if any_trained && !tape::keeps_tokens_apart() => {
                self.fused(scale, x).cast(dtype)
            }
            _ => self.by_token(x, dtype),
        }
    }

    /// One backward operation gives the gradient of `x` and the sums over the tokens.
    fn fused<const D: usize>(self, scale: &Param<Tensor<1>>, x: Tensor<D>) -> Tensor<D> {
        let (features, shape, dtype) = (self.features, x.dims(), x.dtype());
        let value = |p: &Param<Tensor<1>>| features.spread(untracked(p).val().cast(dtype));
        let used = |p: &Param<Tensor<1>>| trained(Some(p)).map(|p| Use::new(p, Form::Dense));
        let scale_used = (value(scale), used(scale));
        let shift_used = match self.shift {
            Some(shift) => (value(shift), used(shift)),
            None => (scale_used.0.zeros_like(), None),
        };
        let x = match features {
            Features::Last => by_token(x),
            Features::Second => flat(x),
        };
        let device = scale.val().device();
        let z = tape::record_affine(x, scale_used, shift_used, &device);
        crate::model::reshape(z, shape)
    }

    /// The gradients of every token, `d * x` and `d`.
    fn by_token<const D: usize>(self, x: Tensor<D>, dtype: DType) -> Tensor<D> {
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
