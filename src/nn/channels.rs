//! Which axis of a tensor holds the features.

use burn::tensor::Tensor;

use crate::capture::tape::by_token;

/// The axis of the features.
#[derive(Clone, Copy, Debug)]
pub(super) enum Features {
    /// `[B, .., F]`.
    Last,
    /// `[B, F, ..]`.
    Second,
}

impl Features {
    /// `[B, T, F]`, whatever the layout.
    pub(super) fn by_token<const D: usize>(self, x: Tensor<D>) -> Tensor<3> {
        match self {
            Self::Last => by_token(x),
            Self::Second => flat(x).swap_dims(1, 2),
        }
    }

    /// `[F]` as a tensor that broadcasts with `[B, .., F]` or `[B, F, ..]`.
    pub(super) fn spread<const D: usize>(self, p: Tensor<1>) -> Tensor<D> {
        let mut shape = [1; D];
        let axis = match self {
            Self::Last => D - 1,
            Self::Second => 1,
        };
        shape[axis] = p.dims()[0];
        p.reshape(shape)
    }
}

/// `[B, F, ..] -> [B, F, T]`.
pub(super) fn flat<const D: usize>(x: Tensor<D>) -> Tensor<3> {
    let dims = x.dims();
    let tokens: usize = dims[2..].iter().product();
    x.reshape([dims[0], dims[1], tokens])
}
